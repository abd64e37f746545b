import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import { installedMlx, installedMlxVersion, MLX_VERSIONS } from '../../engines/mlx/find-mlx.ts'
import { runCommand, type CommandOutcome } from '../../host/run-command.ts'
import { findPython } from './find-python.ts'
import type { InstallableEngine } from './installable-engine.ts'
import type { InstallOptions } from './install-engine.ts'

/** mlx has wheels for Apple silicon and, computing on the CPU, for Linux. */
const PACKAGES: Record<string, string> = {
  'darwin-arm64': 'mlx',
  'linux-x64': 'mlx[cpu]',
  'linux-arm64': 'mlx[cpu]',
}

/** mlx_lm in an environment of its own, by the user's own Python and pip. */
export function mlxPackage(platform = `${process.platform}-${process.arch}`): InstallableEngine {
  return {
    name: 'mlx',
    version: MLX_VERSIONS['mlx-lm'],
    size: 'about 360 MB',
    diskBytes: 360_000_000,
    installed: installedMlxVersion,
    suits: (version) => version === MLX_VERSIONS['mlx-lm'],
    install: async (enginesFolder, options) => {
      await installMlx(enginesFolder, platform, options)
      return MLX_VERSIONS['mlx-lm']
    },
    remove: removeMlx,
    counts: (line) => /^(?:Collecting|Downloading|Installing collected)\s+([\w.-]*)/.exec(line)?.[0],
  }
}

async function installMlx(enginesFolder: string, platform: string, options: InstallOptions): Promise<void> {
  const mlx = PACKAGES[platform]
  if (mlx === undefined) {
    const message = `mlx has no wheels for ${platform}; there are some for ${Object.keys(PACKAGES).join(', ')}.`
    throw new ModelyardError('unsupported', message)
  }
  const python = await findPython('mlx', {
    least: [3, 10],
    modules: ['pip', 'venv'],
    without: '',
    signal: options.signal,
  })
  const draft = join(enginesFolder, `.mlx-${randomBytes(6).toString('hex')}`)
  await mkdir(draft, { recursive: true })
  try {
    await makeEnvironment(python, draft, mlx, options)
    await moveIntoPlace(draft, installedMlx(enginesFolder).folder)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

async function makeEnvironment(
  python: string,
  draft: string,
  mlx: string,
  { signal, onLine }: InstallOptions,
): Promise<void> {
  const environment = join(draft, 'venv')
  const own = join(environment, 'bin', 'python')
  const steps: { command: string; args: string[]; what: string }[] = [
    { command: python, args: ['-m', 'venv', environment], what: 'its environment could not be made' },
    {
      command: own,
      args: pipArguments(mlx),
      what: 'pip could not install it',
    },
    { command: own, args: ['-c', 'import mlx.core, mlx_lm.server'], what: 'it does not run here' },
  ]
  for (const { what, ...line } of steps) {
    const outcome = await runCommand({ ...line, signal, onLine: (text) => onLine?.(text) })
    if (outcome.code !== 0) throw failed(what, outcome)
  }
  const manifest = JSON.stringify({ version: MLX_VERSIONS['mlx-lm'], mlx: MLX_VERSIONS.mlx, python })
  await writeFile(join(draft, 'installed.json'), manifest)
}

/** Python compiles what is used, the first of it when it is tried below; pip would compile all of what lies in 360 MB. */
function pipArguments(mlx: string): string[] {
  const how =
    '-m pip install --only-binary :all: --no-compile --progress-bar off --disable-pip-version-check --no-input'
  return [...how.split(' '), `${mlx}==${MLX_VERSIONS.mlx}`, `mlx-lm==${MLX_VERSIONS['mlx-lm']}`]
}

/** An environment finds its packages from where its Python lies: it may be moved. */
async function moveIntoPlace(draft: string, place: string): Promise<void> {
  const old = `${draft}-old`
  await rename(place, old).catch(() => undefined)
  await rename(draft, place)
  await rm(old, { recursive: true, force: true })
}

async function removeMlx(enginesFolder: string): Promise<boolean> {
  const present = (await installedMlxVersion(enginesFolder)) !== undefined
  await rm(installedMlx(enginesFolder).folder, { recursive: true, force: true })
  return present
}

function failed(why: string, { code, signal, logTail }: CommandOutcome): ModelyardError {
  const how = signal === null ? `exit code ${code}` : signal
  return new ModelyardError(
    'engine_missing',
    `mlx could not be installed: ${why} (${how}). Look at the last lines, then try again: modelyard engines install mlx`,
    { details: { logTail } },
  )
}
