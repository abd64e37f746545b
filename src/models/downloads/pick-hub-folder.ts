import { isMap } from '../../base/is-map.ts'
import { isSafePath, type HubSource } from '../hub-source.ts'
import { purposeOfSafetensors } from '../safetensors/safetensors-purpose.ts'
import type { HubFile } from './hub-client.ts'
import { notInRepository, wrongRepository } from './hub-error.ts'
import { hasGgufModel } from './pick-hub-files.ts'

/** Says which file has which tensor, where there are several with weights. */
export const INDEX = 'model.safetensors.index.json'
const CONFIGURATION = 'config.json'
const ONE_FILE = 'model.safetensors'

/** What mlx_lm 0.32.2 takes for weights: what else is called `.safetensors` (`consolidated`, adapters) are the same again, or others. */
const WEIGHTS = /^model[^/]*\.safetensors$/
const NUMBERED = /^model-(\d{5})-of-(\d{5})\.safetensors$/

/**
 * What else belongs to a model: data of its tokenizer, template and configuration. Only what is named here is ever fetched: pickles (`.bin`, `.pt`)
 * and programs (`.py`) would run code of whoever made the repository; texts, pictures and other formats are nothing an engine reads.
 */
const BESIDE = new Set([
  CONFIGURATION,
  INDEX,
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'tokenizer.model',
  'spiece.model',
  'sentencepiece.bpe.model',
  'special_tokens_map.json',
  'added_tokens.json',
  'vocab.json',
  'vocab.txt',
  'merges.txt',
  'tiktoken.model',
  'chat_template.jinja',
  'chat_template.json',
  'preprocessor_config.json',
  'processor_config.json',
  'image_processor_config.json',
  'video_preprocessor_config.json',
])
const TOKENS = /^[\w.-]+\.tiktoken$/

/** Small files of the repository that say which others are the model. Undefined = it has no such file. */
export interface FolderDescription {
  /** Content of `config.json`. */
  configuration: unknown
  /** Content of `model.safetensors.index.json`. */
  index: unknown
}

/** Whether a source means the safetensors of a repository: it says so, or says nothing and there is no GGUF file to be chosen. */
export function meansFolder({ format, file, quantization }: HubSource, files: readonly HubFile[]): boolean {
  if (format !== undefined) return true
  if (file !== undefined || quantization !== undefined) return false
  return !hasGgufModel(files) && files.some(({ path }) => path.endsWith('.safetensors'))
}

/** Files that {@link pickHubFolder} must know the content of, as far as the repository has them. */
export function describingFiles(files: readonly HubFile[]): { configuration?: HubFile; index?: HubFile } {
  const named = (name: string): HubFile | undefined => files.find(({ path }) => path === name)
  const [configuration, index] = [named(CONFIGURATION), named(INDEX)]
  return { ...(configuration && { configuration }), ...(index && { index }) }
}

/**
 * The files of a repository that are its model in safetensors, weights last: the larger ones are begun when all that says what they are is there. Pure.
 * @throws ModelyardError `model_not_found` for what is not there, `model_file_invalid` for what contradicts itself or leads out of the folder
 */
export function pickHubFolder(
  source: HubSource,
  files: readonly HubFile[],
  { configuration, index }: FolderDescription,
): readonly HubFile[] {
  if (!files.some(({ path }) => path.endsWith('.safetensors')))
    throw notInRepository(source, 'has no safetensors.')
  if (configuration === undefined) throw withoutConfiguration(source, files)
  if (!isMap(configuration))
    throw wrongRepository(source, `has a ${CONFIGURATION} that holds no JSON object.`)
  requireGenerator(source, configuration)
  const weights = namedWeights(source, files, index).map((name) => requireFile(source, files, name))
  // Of data that is empty nothing is to be had; a tokenizer's list of added tokens may be.
  const beside = files.filter(({ path, size }) => (BESIDE.has(path) || TOKENS.test(path)) && size > 0)
  return [...beside, ...weights]
}

function withoutConfiguration(source: HubSource, files: readonly HubFile[]): Error {
  const some = files.find(({ path }) => path.endsWith('.safetensors'))?.path
  return notInRepository(
    source,
    `has safetensors and no ${CONFIGURATION} beside them: they are no model that mlx runs. A single file is fetched by its name: hf:${source.repository}/${some}`,
  )
}

/** Nothing here runs safetensors but mlx. Whoever asks for them by name may have an engine of his own. */
function requireGenerator(source: HubSource, configuration: Record<string, unknown>): void {
  const purpose = purposeOfSafetensors(configuration)
  if (purpose === 'generation' || source.format !== undefined) return
  throw notInRepository(
    source,
    `has safetensors for ${purpose}; mlx runs models that write text. Look for a repository with GGUF or ONNX files, or fetch these all the same: hf:${source.repository}:safetensors`,
  )
}

/** Names of the files with weights: as the index says, else one, else a numbered set. */
function namedWeights(source: HubSource, files: readonly HubFile[], index: unknown): string[] {
  if (index !== undefined) return indexedWeights(source, index)
  const names = files.map(({ path }) => path)
  if (names.includes(ONE_FILE)) return [ONE_FILE]
  const count = names.map((name) => NUMBERED.exec(name)?.[2]).find((number) => number !== undefined)
  if (count !== undefined) return numberedWeights(count)
  const there = names.filter((name) => name.endsWith('.safetensors')).slice(0, 3)
  throw notInRepository(
    source,
    `has no ${ONE_FILE}, nor a set of model-….safetensors, but ${there.join(', ')}; mlx reads no others.`,
  )
}

function numberedWeights(count: string): string[] {
  return Array.from(
    { length: Number(count) },
    (_, at) => `model-${String(at + 1).padStart(5, '0')}-of-${count}.safetensors`,
  )
}

function indexedWeights(source: HubSource, index: unknown): string[] {
  const map = isMap(index) ? index['weight_map'] : undefined
  const names = isMap(map) ? [...new Set(Object.values(map))] : []
  if (names.length === 0) throw wrongRepository(source, `has a ${INDEX} that names no files.`)
  return names
    .map((name) => {
      if (typeof name === 'string' && WEIGHTS.test(name) && isSafePath(name)) return name
      throw wrongRepository(
        source,
        `has a ${INDEX} that names ${JSON.stringify(name).slice(0, 100)}, which is no file model….safetensors beside it. Nothing was fetched.`,
      )
    })
    .sort()
}

function requireFile(source: HubSource, files: readonly HubFile[], name: string): HubFile {
  const file = files.find(({ path }) => path === name)
  if (file === undefined)
    throw notInRepository(source, `lacks ${name}: not all parts of its weights are there.`)
  if (file.size > 0) return file
  throw wrongRepository(source, `has a ${name} that is empty (0 bytes).`)
}
