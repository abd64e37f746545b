import { ModelyardError } from '../../base/errors.ts'
import type { ModelFacts, ModelPurpose } from '../model-facts.ts'

const TEXT = ['tokenizer.json', 'tokenizer_config.json']
const PICTURE = ['preprocessor_config.json']

/** What must lie beside the graphs of a model, by what it is for; captions are of pictures and made of text. */
const BESIDE: Partial<Record<ModelPurpose, readonly string[]>> = {
  embedding: TEXT,
  rerank: TEXT,
  classification: TEXT,
  transcription: [...TEXT, ...PICTURE, 'generation_config.json'],
  captioning: [...TEXT, ...PICTURE],
  detection: PICTURE,
  speech: ['tokens.txt'],
}

/** Graphs of models that write: they are two. */
const SIDES = ['encoder_model', 'decoder_model']

/** Files that a folder's model needs and that are not there. Pure. @param names of all its files, relative to the folder */
export function missingFiles(
  purpose: ModelPurpose,
  architectures: readonly string[],
  names: readonly string[],
): string[] {
  const seesImages = architectures.some((name) => name.endsWith('ForImageClassification'))
  const beside = seesImages ? PICTURE : (BESIDE[purpose] ?? [])
  const sides = purpose === 'transcription' || purpose === 'captioning' ? SIDES : []
  const isThere = (side: string): boolean =>
    names.some((name) => name.includes(side) && name.endsWith('.onnx'))
  return [
    ...beside.filter((name) => !names.includes(name)),
    ...sides.filter((side) => !isThere(side)).map((side) => `onnx/${side}.onnx`),
  ]
}

/** A sentence about what a folder lacks; undefined when nothing is known to. */
export function lackOf({ onnx, path, purpose }: ModelFacts): string | undefined {
  if (onnx === undefined || onnx.missing.length === 0) return undefined
  return `${onnx.missing.join(', ')} ${onnx.missing.length === 1 ? 'is' : 'are'} missing in ${path}, which is for ${purpose}.`
}

/** @throws ModelyardError `model_file_invalid` for a folder that lacks files */
export function requireWholeFolder(model: string, facts: ModelFacts): void {
  const lack = lackOf(facts)
  if (lack === undefined) return
  const message = `Model "${model}" cannot be used: ${lack} Put them there, or fetch the model again.`
  throw new ModelyardError('model_file_invalid', message, { details: { missing: facts.onnx?.missing } })
}
