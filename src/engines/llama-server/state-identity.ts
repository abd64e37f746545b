import { createHash } from 'node:crypto'
import { weightsId } from '../../models/weights-id.ts'
import type { LoadPlan } from '../engine.ts'
import { llamaServerOptions } from './llama-server-options.ts'

/** All that must be the same for a parked context to mean the same (BR-51). Tokenizer and template are parts of the file. */
export async function stateIdentityOf({ facts, slots, spec }: LoadPlan, build: string): Promise<string> {
  const {
    kvCacheType = 'f16',
    flashAttention = 'auto',
    fullWindow = true,
    lora = [],
    draft,
  } = llamaServerOptions(spec)
  const adapters = await weightsId(lora.map(({ path }) => path))
  const scales = lora.map(({ scale = 1 }) => scale)
  const weights = facts.weightsId ?? facts.contentId
  const parts = ['llama-server', build, weights, kvCacheType, flashAttention, fullWindow, slots]
  return createHash('sha256')
    .update(JSON.stringify([...parts, adapters, scales, draft?.path ?? null]))
    .digest('hex')
}
