import { either, mapOf, object, oneOrMore, type Fields } from '../base/compound-shapes.ts'
import { choice, duration, filePath, flag, number, size, text } from '../base/scalar-shapes.ts'
import { described, kindOf, report, type JsonSchema, type Shape } from '../base/shape.ts'
import type { ConfigurationInput } from './configuration-input.ts'
import type { EngineOptionTable } from './engine-options.ts'
import { MODEL_ENTRY, modelShape, type WrittenModel } from './model-shape.ts'
import type { MemoryShare, MemoryShares } from './yard-configuration.ts'

/** What was written, read and checked option by option; nothing is filled in yet. */
export interface WrittenConfiguration {
  models?: Record<string, WrittenModel>
  memory?: {
    budget?: MemoryShares
    absolute?: MemoryShares
    headroom?: number
    grace?: number
    maxLargeModels?: number
    smallModel?: number
  }
  cpu?: { threads?: number; oversubscribe?: boolean }
  gpu?: { exclusive?: boolean }
  limits?: { concurrency?: number; queue?: number; queuePerModel?: number; runTimeout?: number }
  swap?: { patience?: number; spareWorkers?: number }
  drain?: { timeout?: number }
  keepAlive?: number
  contexts?: {
    parking?: boolean | 'always'
    budget?: number
    durability?: 'loss' | 'answer'
    writesPerHour?: number
  }
  context?: number
  preload?: string[]
  directories?: { models?: string; contexts?: string }
  downloads?: { endpoint?: string; token?: string; proxy?: string }
  server?: {
    host?: string
    port?: number
    keys?: string[] | { inference?: string[]; admin?: string[] }
    cors?: { origins?: string[] }
    allowedHosts?: string[]
    bodyLimit?: number
    responses?: boolean | { keep?: number; most?: number }
    log?: boolean
  }
}

const PERCENT = /^\s*(\d+(?:\.\d+)?)\s*%\s*$/

/** A size, or `"75%"` of what there is. */
function share(): Shape<MemoryShare> {
  const bytes = size()
  return {
    wants: 'bytes, a size such as "6GiB" or a share such as "75%"',
    schema: {
      anyOf: [...(bytes.schema['anyOf'] as JsonSchema[]), { type: 'string', pattern: PERCENT.source }],
    },
    accepts: bytes.accepts,
    read(value, path, context) {
      const percent = typeof value === 'string' ? PERCENT.exec(value) : null
      if (percent === null) {
        const read = bytes.read(value, path, context)
        return read === undefined ? undefined : { bytes: read }
      }
      const amount = Number(percent[1])
      return amount <= 100 ? { percent: amount } : report(context, path, 'must not be more than 100%')
    },
  }
}

/** A share of memory, or one per domain. */
function shares(): Shape<MemoryShares> {
  const one = share()
  const many = mapOf(one, { pattern: /^(ram|gpu:\d+)$/, wants: '"ram" or a device such as "gpu:0"' })
  return {
    wants: `${one.wants}, or one per domain`,
    schema: { anyOf: [one.schema, many.schema] },
    accepts: (value) => one.accepts(value) || many.accepts(value),
    read(value, path, context) {
      if (many.accepts(value)) return many.read(value, path, context)
      if (!one.accepts(value)) return report(context, path, `must be ${one.wants}, not ${kindOf(value)}`)
      const ram = one.read(value, path, context)
      return ram === undefined ? undefined : { ram }
    },
  }
}

const whole = (min: number): Shape<number> => number({ min, whole: true })

const memory = object({
  budget: described(shares(), 'Soft budget; 75 % of memory and 90 % of each device by default.', '75%'),
  absolute: described(shares(), 'Limit of forced loads.', '90%'),
  headroom: described(size(), 'Memory of the machine that always stays free.', '1.5GiB'),
  grace: described(duration({ finite: true }), 'How long to wait for memory to come free.', '10s'),
  maxLargeModels: described(whole(1), 'Large models in memory at once.', 3),
  smallModel: described(size(), 'Models below this are not counted as large.', '1GiB'),
})

const limits = object({
  concurrency: described(whole(1), 'Runs at once over all models.', 64),
  queue: described(whole(0), 'Requests that may wait in all.', 512),
  queuePerModel: described(whole(0), 'Requests that may wait for one model.', 128),
  runTimeout: described(duration({ finite: true }), 'Most time a request may take; no limit by default.'),
})

/** A key is a secret: it is never shown, not even when it is wrong. */
const keys = oneOrMore(text({ pattern: /^\S+$/, wants: 'a text without spaces' }))

const server = object({
  host: described(
    text({ pattern: /^\S+$/, wants: 'a host name or address' }),
    'Address to listen on.',
    '127.0.0.1',
  ),
  port: described(number({ min: 0, max: 65_535, whole: true }), '0 is any free one.', 11_435),
  keys: described(
    either(keys, object({ inference: keys, admin: keys })),
    'API keys; none are needed by default.',
  ),
  cors: object({ origins: described(oneOrMore(text()), 'Browser origins that may use the server.') }),
  allowedHosts: described(oneOrMore(text()), 'Host names under which a server without keys may be called.'),
  bodyLimit: described(size(), 'Most bytes of a request.', '64MiB'),
  log: described(flag(), 'A line per request, without any text of users.', false),
  responses: described(
    either<[boolean, { keep?: number; most?: number }]>(
      flag(),
      object({
        keep: described(duration({ finite: true }), 'How long.', '30d'),
        most: described(whole(1), 'How many.', 10_000),
      }),
    ),
    'Responses of the Responses API are kept in the database, with what users wrote.',
    false,
  ),
})

const address = text({ pattern: /^https?:\/\/\S+$/, wants: 'an address such as https://mirror.example' })

const downloads = object({
  endpoint: described(address, 'Address of the model hub or a mirror of it.'),
  token: described(
    text({ pattern: /^\S+$/, wants: 'a text without spaces' }),
    'Sent to that address and nowhere else.',
  ),
  proxy: described(address, 'Address of an HTTP proxy.'),
})

/** The whole configuration. */
export function configurationShape(engines: EngineOptionTable): Shape<WrittenConfiguration> {
  const fields: Record<keyof ConfigurationInput, Shape<unknown>> = {
    $schema: text(),
    models: described(
      mapOf(modelShape(engines), MODEL_ENTRY),
      'Models by id; prefix* for all of an endpoint.',
    ),
    engines: described(
      oneOrMore(text({ pattern: /\S/, wants: 'the path of a module or the name of a package' })),
      "Modules whose default export is an engine of one's own.",
    ),
    memory,
    cpu: object({
      threads: described(whole(1), 'Threads of all active runs together; the cores by default.'),
      oversubscribe: described(flag(), 'No budget of threads.', false),
    }),
    gpu: object({ exclusive: described(flag(), 'One instance for each device.', false) }),
    limits,
    swap: object({
      patience: described(
        duration({ finite: true }),
        'How long younger requests may pass one that needs a swap.',
        '5s',
      ),
      spareWorkers: described(
        number({ min: 0, max: 4, whole: true }),
        'Processes that wait with llama.cpp started, so that the next load begins at once; each costs memory.',
        0,
      ),
    }),
    drain: object({
      timeout: described(duration({ finite: true }), 'How long runs may go on after an unload.', '2m'),
    }),
    keepAlive: described(duration(), 'For models that do not say.', '5m'),
    contexts: object({
      parking: described(
        either<[boolean, 'always']>(flag(), choice('always')),
        'Contexts worth it go to disk when their slot, model or server goes.',
        true,
      ),
      budget: described(size(), 'Disk for all of them; 10 % of the free space, at most 20 GiB, by default.'),
      durability: described(
        choice('loss', 'answer'),
        'When they are written: before they would be lost, or after each answer as well, so that a kill of the server costs none.',
        'loss',
      ),
      writesPerHour: described(size(), 'Bytes an hour that may be written after answers.', '8 GiB'),
    }),
    context: described(
      number({ min: 1, max: 2 ** 31 - 1, whole: true }),
      'Tokens per slot, for models that do not say; at most 8,192 by default.',
    ),
    preload: described(
      oneOrMore(text({ pattern: /\S/, wants: 'the name of a model' })),
      'Models loaded at the start, in the background, the largest first.',
    ),
    directories: object({
      models: described(filePath(), 'Where downloaded models are kept.'),
      contexts: described(filePath(), 'Where contexts are parked.'),
    }),
    downloads,
    server,
  }
  return object(fields as Fields) as Shape<WrittenConfiguration>
}
