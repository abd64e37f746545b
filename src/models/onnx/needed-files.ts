import { ModelyardError } from '../../base/errors.ts'
import type { ModelFacts, ModelPurpose } from '../model-facts.ts'
import { graphNamesOf, knowsTexts, takesImages, type OnnxKind } from './onnx-kind.ts'

const TEXT = ['tokenizer.json', 'tokenizer_config.json']
const PICTURE = ['preprocessor_config.json']

/** Purposes whose models are fed with texts or images, or write texts. */
const OF_TEXTS_AND_IMAGES = new Set<ModelPurpose>([
  'embedding',
  'rerank',
  'classification',
  'captioning',
  'detection',
])

/** Files that a folder's model needs and that are not there. Pure. @param names of all its files, relative to the folder */
export function missingFiles(kind: OnnxKind, names: readonly string[]): string[] {
  const graphs = graphNamesOf(kind) ?? []
  const isThere = (graph: string): boolean =>
    names.some((name) => name.includes(graph) && name.endsWith('.onnx'))
  return [
    ...filesBeside(kind).filter((name) => !names.includes(name)),
    ...graphs.filter((graph) => !isThere(graph)).map((graph) => `onnx/${graph}.onnx`),
  ]
}

/** What must lie beside the graphs. */
function filesBeside(kind: OnnxKind): string[] {
  const { purpose } = kind
  if (purpose === 'speech') return ['tokens.txt']
  if (purpose === 'transcription') return [...TEXT, ...PICTURE, 'generation_config.json']
  if (!OF_TEXTS_AND_IMAGES.has(purpose)) return []
  return [...(knowsTexts(kind) ? TEXT : []), ...(takesImages(kind) ? PICTURE : [])]
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
