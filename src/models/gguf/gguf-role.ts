import { basename } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import type { GgufHeader } from './gguf-header.ts'

/** What a GGUF file is: a model, or something that only belongs to one. */
export type GgufRole = 'model' | 'adapter' | 'projector' | 'vocabulary'

export function ggufRole(header: GgufHeader): GgufRole {
  const type = header.values.get('general.type')
  const architecture = header.values.get('general.architecture')
  if (type === 'adapter' || header.values.has('adapter.lora.alpha')) return 'adapter'
  if (type === 'mmproj' || architecture === 'clip') return 'projector'
  if (header.tensors.length === 0 && !header.values.has('split.count')) return 'vocabulary'
  return 'model'
}

const SENTENCES = {
  adapter: 'is a LoRA adapter, not a model; it belongs to the model it was made for',
  projector: 'is a projector (mmproj), not a model; it belongs to a model that sees or hears',
  vocabulary: 'holds a vocabulary and no weights',
}

/** @throws unsupported when the file cannot be run on its own */
export function requireModel(header: GgufHeader): void {
  const role = ggufRole(header)
  if (role === 'model') return
  throw new ModelyardError('unsupported', `${basename(header.path)} ${SENTENCES[role]}. (${header.path})`, {
    details: { path: header.path, role },
  })
}
