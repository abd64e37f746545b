import { join } from 'node:path'
import { ModelyardError } from '../../../base/errors.ts'
import { findExecutable } from '../../../host/executables.ts'
import { runCommand } from '../../../host/run-command.ts'
import { lookForPython } from '../find-python.ts'
import type { InstallOptions } from '../install-engine.ts'
import {
  findBuildTools,
  installCommand,
  missingTools,
  toolsMissing,
  type BuildTools,
  type FoundTools,
} from './build-tools.ts'

/** What pip brings where the machine lacks it: the versions that were tested. */
const WHEELS = { cmake: 'cmake==4.4.5', ninja: 'ninja==1.13.2' }

/** All that is there, and a Python that can bring the rest, if it is needed. */
export interface ToolChest {
  found: FoundTools
  python: string | undefined
}

/** Looks for what compiles. Nothing is changed. @throws ModelyardError `engine_missing` with what is missing and how to have it */
export async function openToolChest(signal: AbortSignal): Promise<ToolChest> {
  const find = await finder(signal)
  const found = findBuildTools(find, process.env['CXX'])
  const isWhole = found.cmake !== undefined && (found.maker !== undefined || process.platform === 'win32')
  const python = isWhole
    ? undefined
    : await lookForPython({ least: [3, 8], modules: ['pip', 'venv'], signal })
  const missing = missingTools(found, python !== undefined, process.platform)
  if (missing.length > 0) throw toolsMissing(missing, installCommand(missing, process.platform, find))
  return { found, python }
}

/** A Mac has git and c++ from the beginning, which only ask to be installed: they count when Apple's tools are there. */
async function finder(signal: AbortSignal): Promise<(name: string) => string | undefined> {
  if (process.platform !== 'darwin') return (name) => findExecutable(name)
  const { code } = await runCommand({ command: 'xcode-select', args: ['-p'], signal })
  return (name) => {
    const path = findExecutable(name)
    return code !== 0 && path?.startsWith('/usr/bin/') === true ? undefined : path
  }
}

/** Brings cmake and ninja into `folder` where they are missing. @throws ModelyardError `engine_missing` with pip's last lines */
export async function completeTools(
  { found, python }: ToolChest,
  folder: string,
  options: InstallOptions,
): Promise<BuildTools> {
  const { git = 'git', cmake, maker } = found
  if (python === undefined) return { git, cmake: cmake ?? 'cmake', maker }
  const wheels = [
    ...(cmake === undefined ? [WHEELS.cmake] : []),
    ...(maker === undefined ? [WHEELS.ninja] : []),
  ]
  options.onLine?.(`fetching ${wheels.join(' and ')}`)
  await runPip(python, folder, wheels, options)
  const own = (name: string): string => join(folder, process.platform === 'win32' ? 'Scripts' : 'bin', name)
  return { git, cmake: cmake ?? own('cmake'), maker: maker ?? { kind: 'ninja', path: own('ninja') } }
}

async function runPip(
  python: string,
  folder: string,
  wheels: readonly string[],
  { signal, onLine }: InstallOptions,
): Promise<void> {
  const how = '-m pip install --only-binary :all: --progress-bar off --disable-pip-version-check --no-input'
  const own = join(folder, process.platform === 'win32' ? 'Scripts' : 'bin', 'python')
  const steps = [
    { command: python, args: ['-m', 'venv', folder] },
    { command: own, args: [...how.split(' '), ...wheels] },
  ]
  for (const step of steps) {
    const { code, logTail } = await runCommand({ ...step, signal, onLine: (line) => onLine?.(line) })
    if (code === 0) continue
    throw new ModelyardError(
      'engine_missing',
      `llama-server cannot be compiled: ${wheels.join(' and ')} could not be installed by pip (exit code ${code}). Look at the last lines, or install cmake and ninja by your system's packages; then try again.`,
      { details: { logTail } },
    )
  }
}
