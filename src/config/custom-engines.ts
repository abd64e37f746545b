import { join } from 'node:path'
import { isMap } from '../base/is-map.ts'
import { kindOf, shapeError, type Problem } from '../base/shape.ts'
import type { Engine } from '../engines/engine.ts'
import { runProgram } from './run-program.ts'

/** A configuration's value without the engines it brings, and these. */
export interface TakenEngines {
  value: unknown
  engines: Engine[]
}

/**
 * Takes the `engines` out of a configuration: objects as they are, modules by their default export (an engine, or a list of them). Paths and
 * packages are those of `directory`. @throws ModelyardError `config_invalid` with every entry that is none
 */
export async function takeEngines(value: unknown, directory: string): Promise<TakenEngines> {
  if (!isMap(value) || value['engines'] === undefined || value['engines'] === null)
    return { value, engines: [] }
  const { engines: written, ...rest } = value
  const entries: unknown[] = Array.isArray(written) ? written : [written]
  const engines: Engine[] = []
  const problems: Problem[] = []
  for (const [index, entry] of entries.entries()) {
    try {
      engines.push(...(await enginesOf(entry, directory)))
    } catch (error) {
      problems.push({ path: ['engines', index], at: 'value', message: (error as Error).message })
    }
  }
  if (problems.length > 0) throw shapeError('configuration', problems)
  return { value: rest, engines }
}

async function enginesOf(entry: unknown, directory: string): Promise<Engine[]> {
  const made: unknown = typeof entry === 'string' ? await imported(entry, directory) : entry
  const engines: unknown[] = Array.isArray(made) ? made : [made]
  const wrong = engines.find((engine) => !isEngine(engine))
  if (engines.length > 0 && wrong === undefined) return engines as Engine[]
  const what = typeof entry === 'string' ? `the default export of "${entry}"` : 'it'
  throw new Error(`must be an engine, as defineEngine makes it, but ${what} is ${kindOf(wrong ?? made)}`)
}

async function imported(module: string, directory: string): Promise<unknown> {
  try {
    return await runProgram(module, join(directory, 'modelyard.ts'))
  } catch (error) {
    throw new Error(
      `must be a module with an engine; "${module}" cannot be run: ${(error as Error).message}`,
      {
        cause: error,
      },
    )
  }
}

function isEngine(value: unknown): value is Engine {
  if (!isMap(value)) return false
  return (
    typeof value['name'] === 'string' &&
    ['detect', 'plan', 'load'].every((method) => typeof value[method] === 'function')
  )
}
