import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import {
  installedMlx,
  installedMlxManifest,
  installedMlxVersion,
  MLX_VERSIONS,
} from '../../engines/mlx/find-mlx.ts'
import { runCommand, type CommandOutcome } from '../../host/run-command.ts'
import { findPython } from './find-python.ts'
import type { EngineOrigin, EngineWishes, InstallableEngine } from './installable-engine.ts'
import type { InstallOptions } from './install-engine.ts'

/** mlx has wheels for Apple silicon and, computing on the CPU, for Linux. */
const PACKAGES: Record<string, string> = {
  'darwin-arm64': 'mlx',
  'linux-x64': 'mlx[cpu]',
  'linux-arm64': 'mlx[cpu]',
}

/**
 * mlx_vlm alone, and of what it names only what a model that answers with text about images imports: the rest is 650 MB for videos, sound, data
 * sets and its own HTTP server. No torch: its processors of images do without.
 */
const VISION = [`mlx-vlm==${MLX_VERSIONS['mlx-vlm']}`, 'mlx-audio==0.6.2'] as const
const VISION_NEEDS = ['transformers>=5.14', 'pillow>=11.3', 'requests', 'fastapi', 'cryptography'] as const

/** mlx_lm in an environment of its own, by the user's own Python and pip; mlx_vlm beside it where that is wished. */
export function mlxPackage(platform = `${process.platform}-${process.arch}`): InstallableEngine {
  return {
    name: 'mlx',
    version: MLX_VERSIONS['mlx-lm'],
    size: 'about 360 MB',
    diskBytes: 360_000_000,
    installed: installedMlxVersion,
    vision: {
      version: MLX_VERSIONS['mlx-vlm'],
      size: 'about 470 MB',
      diskBytes: 470_000_000,
      installed: async (folder) => (await installedMlxManifest(folder))?.vision,
    },
    origin: visionWords,
    suits: (version) => version === MLX_VERSIONS['mlx-lm'],
    install: async (enginesFolder, wishes) => {
      await installMlx(enginesFolder, platform, wishes)
      return MLX_VERSIONS['mlx-lm']
    },
    remove: removeMlx,
    counts: (line) => /^(?:Collecting|Downloading|Installing collected)\s+([\w.-]*)/.exec(line)?.[0],
  }
}

/** Told where it is there: else there is but one way. */
async function visionWords(enginesFolder: string): Promise<EngineOrigin | undefined> {
  const version = (await installedMlxManifest(enginesFolder))?.vision
  return version === undefined ? undefined : { how: `with mlx-vlm ${version}`, path: enginesFolder }
}

async function installMlx(enginesFolder: string, platform: string, options: EngineWishes): Promise<void> {
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
  const vision = options.vision ?? (await installedMlxManifest(enginesFolder))?.vision !== undefined
  await mkdir(draft, { recursive: true })
  try {
    await makeEnvironment(python, draft, { mlx, vision }, options)
    await moveIntoPlace(draft, installedMlx(enginesFolder).folder)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

async function makeEnvironment(
  python: string,
  draft: string,
  { mlx, vision }: { mlx: string; vision: boolean },
  { signal, onLine }: InstallOptions,
): Promise<void> {
  const environment = join(draft, 'venv')
  const own = join(environment, 'bin', 'python')
  const packages = [`${mlx}==${MLX_VERSIONS.mlx}`, `mlx-lm==${MLX_VERSIONS['mlx-lm']}`]
  const steps: Step[] = [
    { command: python, args: ['-m', 'venv', environment], what: 'its environment could not be made' },
    pip(own, [...packages, ...(vision ? VISION_NEEDS : [])]),
    ...(vision ? [pip(own, ['--no-deps', ...VISION])] : []),
    { command: own, args: ['-c', 'import mlx.core, mlx_lm.server'], what: 'it does not run here' },
    ...(vision
      ? [
          {
            command: own,
            args: ['-c', 'import mlx_vlm.server.generation'],
            what: 'mlx-vlm does not run here',
          },
        ]
      : []),
  ]
  for (const { what, ...line } of steps) {
    const outcome = await runCommand({ ...line, signal, onLine: (text) => onLine?.(text) })
    if (outcome.code !== 0) throw failed(what, outcome)
  }
  const { mlx: core, 'mlx-lm': version, 'mlx-vlm': seeing } = MLX_VERSIONS
  const manifest = { version, mlx: core, ...(vision && { vision: seeing }), python }
  await writeFile(join(draft, 'installed.json'), JSON.stringify(manifest))
}

interface Step {
  command: string
  args: string[]
  /** What is wrong when it fails. */
  what: string
}

/** Python compiles what is used, the first of it when it is tried below; pip would compile all of what lies in 360 MB. */
function pip(python: string, packages: readonly string[]): Step {
  const how =
    '-m pip install --only-binary :all: --no-compile --progress-bar off --disable-pip-version-check --no-input'
  return { command: python, args: [...how.split(' '), ...packages], what: 'pip could not install it' }
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
