import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import { isMap } from '../../base/is-map.ts'
import { invalidFile } from '../gguf/invalid-file.ts'
import type { ModelPurpose, OnnxFacts } from '../model-facts.ts'
import { missingFiles } from './needed-files.ts'
import { factsOfConfiguration, type OnnxConfiguration } from './onnx-purpose.ts'

/** A folder that is one model. */
export interface OnnxFolder {
  purpose: ModelPurpose
  onnx: OnnxFacts
  /** Absolute paths of all that belongs to the model. */
  files: string[]
}

/** A configuration is a few kilobytes; what is larger is none. */
const MOST_CONFIGURATION = 16 * 2 ** 20
/** More than any model has; a folder of somebody's whole disk is not listed for ever. */
const MOST_FILES = 1000
const DEPTH = 2
const OWN_RECORD = /\.modelyard\.json$/

/** Whether there is a graph in the folder or in one of its `onnx/` folders. */
export async function isOnnxFolder(folder: string): Promise<boolean> {
  return (await filesBelow(folder)).some(isGraph)
}

/**
 * What a folder with ONNX graphs is: judged from its `config.json`, or from the files beside the graph for voices.
 * @throws ModelyardError `model_file_invalid`, `model_not_found`
 */
export async function readOnnxFolder(folder: string): Promise<OnnxFolder> {
  const files = (await filesBelow(folder)).filter((file) => !OWN_RECORD.test(file)).sort()
  const graphs = await Promise.all(files.filter(isWeight).map(async (file) => sizeOf(folder, file)))
  if (!graphs.some(({ file }) => isGraph(file))) {
    throw new ModelyardError('model_not_found', `There is no .onnx file in the folder ${folder}.`, {
      details: { path: folder },
    })
  }
  const names = files.map((file) => relative(folder, file).replaceAll(sep, '/'))
  const { purpose, ...facts } = factsOfConfiguration(await readConfiguration(folder), names)
  const missing = missingFiles({ purpose, ...facts }, names)
  return { purpose, onnx: { ...facts, graphs, missing }, files }
}

async function filesBelow(folder: string, depth: number = DEPTH): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const files: string[] = []
  for (const entry of entries.slice(0, MOST_FILES)) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && depth > 1 && !entry.name.startsWith('.')) {
      files.push(...(await filesBelow(path, depth - 1)))
    } else if (entry.isFile() || entry.isSymbolicLink()) files.push(path)
  }
  return files
}

function isGraph(file: string): boolean {
  return file.endsWith('.onnx')
}

/** Large graphs keep their weights in a file beside them. */
function isWeight(file: string): boolean {
  return /\.onnx(_data(_\d+)?|\.data)?$/.test(file)
}

async function sizeOf(folder: string, file: string): Promise<{ file: string; bytes: number }> {
  const { size } = await stat(file).catch((cause: unknown) => {
    throw invalidFile(file, `cannot be read: ${(cause as Error).message}`)
  })
  return { file: relative(folder, file).replaceAll(sep, '/'), bytes: size }
}

async function readConfiguration(folder: string): Promise<OnnxConfiguration | undefined> {
  const path = join(folder, 'config.json')
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return undefined
  if (found.size > MOST_CONFIGURATION) throw invalidFile(path, 'is larger than a configuration can be.')
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'))
    if (isMap(value)) return value
  } catch {
    throw invalidFile(path, 'is not valid JSON.')
  }
  throw invalidFile(path, 'holds no JSON object.')
}
