import { report, shapeError, type ReadContext } from '../base/shape.ts'
import type { MemoryDomain } from '../host/memory.ts'
import { configurationShape, type WrittenConfiguration } from './configuration-shape.ts'
import type { YardDirectories } from './directories.ts'
import { BUILT_IN_ENGINES } from './engine-options.ts'
import { isSurelyBelow, shareText } from './memory-share.ts'
import { modelSpecs } from './parse-models.ts'
import type { ParseOptions } from './parse-options.ts'
import { isWildcard, withInherited } from './wildcard-models.ts'
import type { ContextSettings, ServerSettings, YardConfiguration } from './yard-configuration.ts'

const MINUTE = 60_000
const DAY = 86_400_000
const MIB = 1024 ** 2

/**
 * What people wrote, checked and completed: unknown options are refused with the nearest known one, sizes become bytes, durations
 * milliseconds, paths absolute (P1, P2, C2). @throws ModelyardError `config_invalid` with
 * every problem in `details.problems`
 */
export function parseConfiguration(input: unknown, options: ParseOptions): YardConfiguration {
  const { directories, directory, engines = {}, customEngines = [], what = 'configuration' } = options
  const context: ReadContext = { directory, problems: [] }
  const own = Object.fromEntries(customEngines.map(({ name }) => [name, 'unchecked' as const]))
  const shape = configurationShape({ ...BUILT_IN_ENGINES, ...engines, ...own })
  const written = shape.read(withInherited(input ?? {}), [], context) ?? {}
  const specs = modelSpecs(
    written.models ?? {},
    { keepAlive: written.keepAlive ?? 5 * MINUTE, context: written.context },
    context,
  )
  checkLimits(written.memory ?? {}, context)
  if (context.problems.length > 0) throw shapeError(what, context.problems)
  const models = specs.filter(({ id }) => !isWildcard(id))
  const wildcards = specs.filter(({ id }) => isWildcard(id))
  const configuration = {
    ...complete(written, models, directories),
    ...(wildcards.length > 0 && { wildcards }),
  }
  return customEngines.length === 0 ? configuration : { ...configuration, engines: customEngines }
}

/** An absolute limit below the budget would make the budget a lie. Shares of different kinds are compared when the machine is known. */
function checkLimits(
  { budget = {}, absolute = {} }: NonNullable<WrittenConfiguration['memory']>,
  context: ReadContext,
): void {
  for (const [name, limit] of Object.entries(absolute)) {
    const soft = budget[name as MemoryDomain]
    if (limit === undefined || soft === undefined || !isSurelyBelow(limit, soft)) continue
    const message = `must not be below the budget of ${name}: ${shareText(limit)} < ${shareText(soft)}`
    report(context, ['memory', 'absolute'], message)
  }
}

function complete(
  {
    memory = {},
    cpu = {},
    gpu = {},
    limits = {},
    swap = {},
    drain = {},
    contexts = {},
    downloads = {},
    server = {},
    ...rest
  }: WrittenConfiguration,
  models: YardConfiguration['models'],
  directories: YardDirectories,
): YardConfiguration {
  return {
    directories: { ...directories, ...rest.directories },
    memory: {
      budget: memory.budget ?? {},
      absolute: memory.absolute ?? {},
      ...(memory.headroom !== undefined && { headroom: memory.headroom }),
      grace: memory.grace ?? 10_000,
      maxLargeModels: memory.maxLargeModels ?? 3,
      smallModel: memory.smallModel ?? 1024 * MIB,
    },
    cpu: {
      ...(cpu.threads !== undefined && { threads: cpu.threads }),
      oversubscribe: cpu.oversubscribe ?? false,
    },
    gpu: { exclusive: gpu.exclusive ?? false },
    limits: {
      concurrency: limits.concurrency ?? 64,
      queue: limits.queue ?? 512,
      queuePerModel: limits.queuePerModel ?? 128,
      ...(limits.runTimeout !== undefined && { runTimeout: limits.runTimeout }),
    },
    swap: { patience: swap.patience ?? 5000, spareWorkers: swap.spareWorkers ?? 0 },
    drain: { timeout: drain.timeout ?? 2 * MINUTE },
    contexts: contextSettings(contexts),
    downloads,
    server: serverSettings(server),
    models,
    keepAlive: rest.keepAlive ?? 5 * MINUTE,
    ...(rest.context !== undefined && { context: rest.context }),
    preload: rest.preload ?? [],
  }
}

const DEFAULT_WRITES = 8 * 1024 ** 3

function contextSettings({
  parking = true,
  budget,
  durability,
  writesPerHour = DEFAULT_WRITES,
}: NonNullable<WrittenConfiguration['contexts']>): ContextSettings {
  const mode = parking === 'always' ? 'always' : parking ? 'worth' : 'off'
  return {
    parking: mode,
    ...(budget !== undefined && { budget }),
    ...(durability === 'answer' && { answersPerHour: writesPerHour }),
  }
}

function serverSettings(server: NonNullable<WrittenConfiguration['server']>): ServerSettings {
  const { keys = [], cors = {} } = server
  return {
    host: server.host ?? '127.0.0.1',
    port: server.port ?? 11_435,
    keys: Array.isArray(keys)
      ? { inference: keys, admin: [] }
      : { inference: keys.inference ?? [], admin: keys.admin ?? [] },
    cors: cors.origins === undefined ? {} : { origins: cors.origins },
    allowedHosts: server.allowedHosts ?? [],
    bodyLimit: server.bodyLimit ?? 64 * MIB,
    log: server.log ?? false,
    ...keptResponses(server.responses ?? false),
  }
}

function keptResponses(
  kept: NonNullable<NonNullable<WrittenConfiguration['server']>['responses']>,
): Pick<ServerSettings, 'responses'> {
  if (kept === false) return {}
  const { keep = 30 * DAY, most = 10_000 } = kept === true ? {} : kept
  return { responses: { age: keep, count: most } }
}
