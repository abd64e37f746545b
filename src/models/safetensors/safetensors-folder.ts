import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isMap } from '../../base/is-map.ts'
import { invalidFile } from '../gguf/invalid-file.ts'
import type { ModelPurpose, SafetensorsFacts } from '../model-facts.ts'
import { purposeOfSafetensors } from './safetensors-purpose.ts'
import { TEXT_PARTS } from './text-parts.ts'
import { visionOf } from './vision-part.ts'
import { quantizationOf } from './quantization.ts'

/** A folder that is one model. */
export interface SafetensorsFolder {
  purpose: ModelPurpose
  safetensors: SafetensorsFacts
  /** Absolute paths of all that belongs to the model. */
  files: string[]
}

/** Configurations are kilobytes; those of tokenizers with thousands of added tokens some megabytes. */
const MOST_CONFIGURATION = 32 * 2 ** 20
const BELONGING = /\.(safetensors|json|jinja|model|txt|tiktoken)$/
/** What we note beside fetched files, and of files on their way. */
const NOTES = /\.(modelyard|part)\.json$/

type Fields = Record<string, unknown>

/** Whether there are weights and a configuration in the folder. */
export async function isSafetensorsFolder(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((): string[] => [])
  return names.includes('config.json') && names.some(isWeights)
}

/** What a folder with safetensors is, by its configuration. @throws ModelyardError `model_file_invalid` for one that cannot be read */
export async function readSafetensorsFolder(folder: string): Promise<SafetensorsFolder> {
  const names = (await readdir(folder)).filter((name) => BELONGING.test(name) && !NOTES.test(name)).sort()
  const path = join(folder, 'config.json')
  const configuration = await readFields(path)
  const sizes = await Promise.all(
    names.filter(isWeights).map(async (name) => (await stat(join(folder, name))).size),
  )
  const chatTemplate = await readTemplate(folder, names)
  const weights = names.filter(isWeights).map((name) => join(folder, name))
  const vision = await visionOf(configuration, weights)
  const { model_file: codeFile } = configuration
  const quantization = quantizationOf(configuration)
  return {
    purpose: purposeOfSafetensors(configuration),
    safetensors: {
      ...shapeOf(configuration, path),
      ...(quantization !== undefined && { quantization }),
      weightBytes: sizes.reduce((sum, size) => sum + size, 0),
      ...(chatTemplate !== undefined && { chatTemplate }),
      ...(vision !== undefined && { vision }),
      ...(typeof codeFile === 'string' && { codeFile }),
    },
    files: names.map((name) => join(folder, name)),
  }
}

function shapeOf(
  configuration: Fields,
  path: string,
): Omit<SafetensorsFacts, 'quantization' | 'weightBytes' | 'chatTemplate' | 'vision' | 'codeFile'> {
  const inner = TEXT_PARTS.map((name) => configuration[name]).find(isMap)
  const fields = inner === undefined ? configuration : { ...configuration, ...inner }
  const need = (name: string): number => {
    const value = wholeOf(fields[name])
    if (value === undefined) throw invalidFile(path, `has no number "${name}".`)
    return value
  }
  const heads = need('num_attention_heads')
  const type = fields['torch_dtype'] ?? fields['dtype']
  return {
    modelType: typeof fields['model_type'] === 'string' ? fields['model_type'] : 'unknown',
    layers: need('num_hidden_layers'),
    contextLength: wholeOf(fields['max_position_embeddings']) ?? 2048,
    kvHeads: wholeOf(fields['num_key_value_heads']) ?? heads,
    headLength: wholeOf(fields['head_dim']) ?? Math.ceil(need('hidden_size') / heads),
    vocabularySize: need('vocab_size'),
    numberBytes: type === 'float32' ? 4 : 2,
  }
}

/** In a file of its own (as JSON in older models that see), or in the tokenizer's configuration: one, or several by name. */
async function readTemplate(folder: string, names: readonly string[]): Promise<string | undefined> {
  if (names.includes('chat_template.jinja')) return await readText(join(folder, 'chat_template.jinja'))
  const file = ['chat_template.json', 'tokenizer_config.json'].find((name) => names.includes(name))
  if (file === undefined) return undefined
  const { chat_template: template } = await readFields(join(folder, file))
  if (typeof template === 'string') return template
  const named = Array.isArray(template) ? template.filter(isMap) : []
  const usual = named.find(({ name }) => name === 'default') ?? named[0]
  return typeof usual?.['template'] === 'string' ? usual['template'] : undefined
}

async function readFields(path: string): Promise<Fields> {
  const text = await readText(path)
  try {
    const value: unknown = JSON.parse(text)
    if (isMap(value)) return value
  } catch {
    throw invalidFile(path, 'is not valid JSON.')
  }
  throw invalidFile(path, 'holds no JSON object.')
}

async function readText(path: string): Promise<string> {
  const found = await stat(path)
  if (found.size > MOST_CONFIGURATION) throw invalidFile(path, 'is larger than a configuration can be.')
  return await readFile(path, 'utf8')
}

function isWeights(name: string): boolean {
  return name.endsWith('.safetensors')
}

function wholeOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined
}
