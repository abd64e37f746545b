import { toModelyardError } from '../../base/errors.ts'
import type { YardDirectories } from '../../config/directories.ts'
import { installedMlxManifest, MLX_VERSIONS } from '../../engines/mlx/find-mlx.ts'
import { findServer } from '../../engines/llama-server/find-server.ts'
import { findSdServer } from '../../engines/sd-server/find-sd-server.ts'
import { sdServerOptions } from '../../engines/sd-server/sd-server-options.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import { enginePackage, installedVersion } from '../engines/engine-package.ts'
import type { Check } from './check.ts'

/** The oldest version that is supported: what `engines` in package.json says. */
const OLDEST_NODE = [20, 19] as const

export function examineNode(version: string = process.versions.node): Check {
  const found = `${version} on ${process.platform} ${process.arch}`
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor, oldestMinor] = OLDEST_NODE
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) {
    return { name: 'node', status: 'ok', found }
  }
  const remedy = `Install Node ${OLDEST_NODE.join('.')} or newer.`
  return { name: 'node', status: 'problem', found, remedy }
}

/** The default engine. */
export function examineEngine(directories: YardDirectories): Check {
  return examinePackagedEngine(directories, 'node-llama-cpp', 'engine')
}

/** An engine that npm installs. @param name of the check */
export function examinePackagedEngine(
  { engines }: YardDirectories,
  which: string,
  name: string = which,
): Check {
  try {
    const engine = enginePackage(which)
    const version = installedVersion(engines, engine)
    const wanted = `${engine.name} ${engine.version}`
    if (version === engine.version) return { name, status: 'ok', found: `${wanted} in ${engines}` }
    const found =
      version === undefined
        ? `${wanted} is not installed yet`
        : `${engine.name} ${version}, wanted is ${engine.version}`
    const remedy = `It is installed on first use, or now: modelyard engines install ${engine.name}`
    return { name, status: 'warning', found, remedy }
  } catch (error) {
    const remedy = 'Use engines that run elsewhere, or a platform from this list.'
    return { name, status: 'problem', found: toModelyardError(error).message, remedy }
  }
}

const ORIGIN = { option: '', path: ' on PATH', wheel: ' from a wheel', source: ', compiled here' } as const

/** The program that models with `engine: llama-server` run on; without it nothing is wrong where none of them is configured. */
export async function examineLlamaServer({ engines }: YardDirectories, isNeeded: boolean): Promise<Check> {
  const found = await findServer({ binary: undefined, enginesDirectory: engines })
  const name = 'llama-server'
  if (!('reason' in found)) {
    const { version, from, command } = found
    return { name, status: 'ok', found: `${version}${ORIGIN[from]}: ${command}` }
  }
  return {
    name,
    status: isNeeded ? 'warning' : 'information',
    found: isNeeded ? found.reason : `${found.reason} No configured model needs it.`,
    remedy: `Models with engine: llama-server need it. ${found.remedy}`,
  }
}

/** What models with `engine: mlx` run on; asked only where there are some. */
export async function examineMlx({ engines }: YardDirectories): Promise<Check> {
  const { version, vision } = (await installedMlxManifest(engines)) ?? {}
  const wanted = MLX_VERSIONS['mlx-lm']
  const name = 'mlx'
  const seeing = vision === undefined ? '' : `, mlx-vlm ${vision}`
  if (version === wanted) return { name, status: 'ok', found: `mlx-lm ${version}${seeing} in ${engines}` }
  return {
    name,
    status: 'warning',
    found: version === undefined ? 'mlx-lm is not installed' : `mlx-lm ${version}, wanted is ${wanted}`,
    remedy: 'It is installed on first use, or now: modelyard engines install mlx',
  }
}

/** The programs that models with `engine: sd-server` run on; empty where there are none of these. */
export async function examineSdServers(models: readonly ModelSpec[]): Promise<Check[]> {
  const own = models.filter(({ engine }) => engine === 'sd-server')
  const binaries = new Set(own.map((spec) => sdServerOptions(spec).binary))
  return await Promise.all([...binaries].map(async (binary) => await examineSdServer(binary)))
}

async function examineSdServer(binary: string | undefined): Promise<Check> {
  const found = await findSdServer(binary)
  const name = 'sd-server'
  if (!('reason' in found)) return { name, status: 'ok', found: `${found.version}: ${found.command}` }
  return { name, status: 'warning', found: found.reason, remedy: found.remedy }
}
