import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { Document } from 'yaml'
import { ModelyardError } from '../base/errors.ts'
import { problemText, type Problem } from '../base/shape.ts'
import { jsonErrorOffset } from './json-syntax.ts'
import { offsetOf, positionOf, type Position } from './locate.ts'
import { runProgram } from './run-program.ts'

/** A configuration file that was read, but not yet checked. */
export interface ConfigurationFile {
  path: string
  value: unknown
  /** True for a file without a single word: right at start, suspicious while running (a half-written save). */
  empty: boolean
  /** Where problems are. Absent for programs (`.ts`), whose values have no place. */
  locate?: (problem: Problem) => Promise<Position>
}

/** Names that are looked for, in this order. */
export const CONFIGURATION_NAMES: readonly string[] = [
  'modelyard.yaml',
  'modelyard.yml',
  'modelyard.json',
  'modelyard.ts',
]

const PROGRAMS = new Set(['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs'])

/** @throws ModelyardError `config_invalid`, with line and column where the syntax is wrong */
export async function readConfigurationFile(path: string): Promise<ConfigurationFile> {
  const extension = extname(path).toLowerCase()
  const text = await readText(path)
  if (PROGRAMS.has(extension)) return await readProgram(path)
  return extension === '.json' ? readJson(path, text) : await readYaml(path, text)
}

async function readText(path: string): Promise<string> {
  try {
    const bytes = await readFile(path)
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw invalid(path, `it cannot be read: ${(error as Error).message}`, error)
  }
}

async function readYaml(path: string, text: string): Promise<ConfigurationFile> {
  const { parseDocument } = await import('yaml')
  const document = parseDocument(text, { prettyErrors: false, merge: true })
  const [error] = document.errors
  if (error !== undefined) throw invalid(path, error.message, error, positionOf(text, error.pos[0]))
  const locate = async (problem: Problem): Promise<Position> => positionOf(text, offsetOf(document, problem))
  return { path, value: plainValue(path, document), empty: document.contents === null, locate }
}

/** Refuses documents whose aliases would multiply without end. */
function plainValue(path: string, document: Document): unknown {
  try {
    return document.toJS()
  } catch (error) {
    throw invalid(path, (error as Error).message, error)
  }
}

function readJson(path: string, text: string): ConfigurationFile {
  const locate = async (problem: Problem): Promise<Position> => {
    const { parseDocument } = await import('yaml')
    return positionOf(text, offsetOf(parseDocument(text), problem))
  }
  if (text.trim() === '') return { path, value: undefined, empty: true, locate }
  try {
    return { path, value: JSON.parse(text), empty: false, locate }
  } catch (error) {
    const offset = jsonErrorOffset(text) ?? 0
    throw invalid(path, 'this is not JSON from here on.', error, positionOf(text, offset))
  }
}

async function readProgram(path: string): Promise<ConfigurationFile> {
  try {
    return { path, value: await runProgram(path, path), empty: false }
  } catch (error) {
    throw invalid(path, `it cannot be run: ${(error as Error).message}`, error)
  }
}

function invalid(path: string, message: string, cause: unknown, position?: Position): ModelyardError {
  const place = position === undefined ? path : `${path}:${position.line}:${position.column}`
  return new ModelyardError('config_invalid', `${place}: ${message}`, {
    details: { file: path, ...position },
    cause,
  })
}

const SHOWN = 5

/** The problems of a file in one error: `file:line:column: models.x.slots must be …`, the first five in words. */
export async function fileError(
  file: ConfigurationFile,
  problems: readonly Problem[],
): Promise<ModelyardError> {
  const lines: string[] = []
  const places: (Problem & Partial<Position>)[] = []
  for (const problem of problems) {
    const position = await file.locate?.(problem)
    const place = position === undefined ? file.path : `${file.path}:${position.line}:${position.column}`
    lines.push(`${place}: ${problemText(problem)}`)
    places.push({ ...problem, ...position })
  }
  const hidden = lines.length - SHOWN
  const shown = hidden > 0 ? [...lines.slice(0, SHOWN), `… and ${hidden} more`] : lines
  const details = { file: file.path, line: places[0]?.line, column: places[0]?.column, problems: places }
  return new ModelyardError('config_invalid', shown.join('\n'), { details })
}
