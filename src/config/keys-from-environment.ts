import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ModelyardError } from '../base/errors.ts'
import type { ConfigurationInput } from './configuration-input.ts'
import type { Environment } from './directories.ts'

type Keys = NonNullable<NonNullable<ConfigurationInput['server']>['keys']>

/**
 * `MODELYARD_API_KEY` and `MODELYARD_ADMIN_KEY`, and with `_FILE` at their end files of such keys, one a line: how containers give secrets.
 * Undefined when none is set. @throws ModelyardError `config_invalid` for a file that cannot be read or holds none
 */
export async function keysFromEnvironment(
  environment: Environment,
  workingDirectory: string,
): Promise<Keys | undefined> {
  const read = (name: string): Promise<string[]> => keysOf(name, environment, workingDirectory)
  const [inference, admin] = await Promise.all([read('MODELYARD_API_KEY'), read('MODELYARD_ADMIN_KEY')])
  if (admin.length > 0) return { inference, admin }
  return inference.length === 0 ? undefined : inference
}

async function keysOf(name: string, environment: Environment, workingDirectory: string): Promise<string[]> {
  const key = environment[name]
  const path = environment[`${name}_FILE`]
  const keys = key === undefined || key === '' ? [] : [key]
  if (path === undefined || path === '') return keys
  return [...keys, ...(await keysOfFile(`${name}_FILE`, resolve(workingDirectory, path)))]
}

async function keysOfFile(variable: string, path: string): Promise<string[]> {
  const keys = (await textOf(variable, path)).split('\n').map((line) => line.trim())
  const found = keys.filter((line) => line !== '' && !line.startsWith('#'))
  // A server that was to have a key must not start without one.
  if (found.length === 0) throw invalid(`${variable}: ${path} holds no key; write one a line.`)
  return found
}

async function textOf(variable: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw invalid(`${variable}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`, error)
  }
}

function invalid(message: string, cause?: unknown): ModelyardError {
  return new ModelyardError('config_invalid', message, { cause })
}
