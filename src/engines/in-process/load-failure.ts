import { basename } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import { loadAborted, loadFailed, type LoadFailureClass, type LoadPlan } from '../engine.ts'

const SIGNS: readonly [LoadFailureClass, RegExp, string][] = [
  ['out_of_memory', /bad_alloc|out of memory|failed to allocate/i, 'there was not enough memory'],
  [
    'bad_file',
    /protobuf|invalid_|load model|no such file|not found|unsupported model ir|unexpected token|json|shape|tokeniz|opset|not a registered|metadata|could not locate|please check/i,
    'its files cannot be used',
  ],
]

/** What a package threw while it loaded a model, as an error that tells its class (R11). */
export function loadFailure({ model, facts }: LoadPlan, thrown: unknown): ModelyardError {
  if (thrown instanceof ModelyardError) return ofOurs(model, thrown)
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  const [failure, , sentence] = SIGNS.find(([, sign]) => sign.test(message)) ?? [
    'crash',
    /./,
    'the engine failed',
  ]
  const where = facts.path === undefined ? '' : ` (${basename(facts.path)})`
  return loadFailed(failure, `Model "${model}"${where} could not be loaded: ${sentence}. ${message}`, thrown)
}

/** A file that we found wrong ourselves is a load that failed, as if the engine had. */
function ofOurs(model: string, error: ModelyardError): ModelyardError {
  if (error.code !== 'model_file_invalid') return error
  return loadFailed('bad_file', `Model "${model}" could not be loaded: ${error.message}`, error)
}

/** @throws ModelyardError `aborted` */
export function throwIfGivenUp(signal: AbortSignal): void {
  if (!signal.aborted) return
  throw signal.reason instanceof ModelyardError ? signal.reason : loadAborted(signal)
}
