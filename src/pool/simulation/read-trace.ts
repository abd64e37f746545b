import { ModelyardError } from '../../base/errors.ts'
import { problemText, type ReadContext, type Shape } from '../../base/shape.ts'
import type { PoolLimits } from '../limits.ts'
import { domainsOf } from '../policy/budget.ts'
import type { Charges } from '../policy/state.ts'
import { defaultLimits } from './default-limits.ts'
import type { SimulatedModel } from './simulated-model.ts'
import type { Trace, TraceRequest } from './trace.ts'
import { headerLine, modelLine, requestLine, type HeaderLine, type ModelLine } from './trace-lines.ts'

/** Conversations that may begin with one another in a row: each has a block of its own in all that follow. */
const DEEPEST = 1000

/** The trace in these lines of JSON; see `trace-lines.ts`. @throws ModelyardError `invalid_request` naming the line */
export function readTrace(lines: Iterable<string>, name: string): Trace {
  const reader = new TraceReader(name)
  for (const line of lines) reader.read(line)
  return reader.trace()
}

/** Takes a trace line by line, as they come. */
export class TraceReader {
  readonly #name: string
  #line = 0
  #header: HeaderLine | undefined
  readonly #models = new Map<string, SimulatedModel>()
  readonly #requests: TraceRequest[] = []
  /** The line that first asked for each model. */
  readonly #asked = new Map<string, number>()
  /** By conversation, with whose tokens it begins, and the line that said so first. */
  readonly #begun = new Map<string, { readonly of: string; readonly line: number }>()

  constructor(name: string) {
    this.#name = name
  }

  /** @throws ModelyardError `invalid_request` naming the line */
  read(line: string): void {
    this.#line++
    if (line.trim() === '') return
    const value = this.#parse(line)
    if (this.#header === undefined) this.#header = this.#shaped(headerLine, value)
    else if ('model' in value && typeof value.model === 'object') this.#readModel(value)
    else this.#readRequest(value)
  }

  #parse(line: string): { model?: unknown } {
    try {
      const value: unknown = JSON.parse(line)
      if (typeof value === 'object' && value !== null) return value
    } catch {
      // Said below: the parser's own words would repeat a part of the line.
    }
    throw this.#wrong('is not a JSON object')
  }

  #shaped<Value>(shape: Shape<Value>, value: unknown): Value {
    const context: ReadContext = { directory: '', problems: [] }
    const read = shape.read(value, [], context)
    const [problem] = context.problems
    if (problem !== undefined || read === undefined) {
      throw this.#wrong(problem === undefined ? 'is wrong' : problemText(problem))
    }
    return read
  }

  /** Later descriptions of a model take the place of earlier ones. */
  #readModel(value: unknown): void {
    const { model } = this.#shaped(modelLine, value)
    if (model?.id !== undefined) this.#models.set(model.id, simulatedModel(model.id, model))
  }

  #readRequest(value: unknown): void {
    // There are hundreds of thousands of them, and next to all are as they should be.
    const isRight = requestLine.isRight?.(value) === true
    const request = (isRight ? value : this.#shaped(requestLine, value)) as TraceRequest
    this.#requests.push(request)
    this.#noteBeginning(request)
    if (!this.#asked.has(request.model)) this.#asked.set(request.model, this.#line)
  }

  #noteBeginning({ conversation, beginning }: TraceRequest): void {
    if (beginning === undefined) return
    if (conversation === undefined) throw this.#wrong('a beginning needs the "conversation" that has it')
    if (!this.#begun.has(conversation)) this.#begun.set(conversation, { of: beginning.of, line: this.#line })
  }

  /** Whoever shares a beginning shares it with one that has its own of others, and so on to one that has its own, and not too far. */
  #refuseCircles(): void {
    const depths = new Map<string, number>()
    for (const [conversation, { line }] of this.#begun) {
      const followed = new Set<string>()
      let name: string | undefined = conversation
      for (; name !== undefined && !depths.has(name); name = this.#begun.get(name)?.of) {
        if (followed.has(name))
          throw this.#wrong(`the beginning of the conversation "${name}" is its own`, line)
        followed.add(name)
      }
      let depth = name === undefined ? -1 : (depths.get(name) ?? 0)
      for (const one of [...followed].toReversed()) depths.set(one, ++depth)
      if (depth > DEEPEST) throw this.#wrong(tooDeep(conversation, depth), line)
    }
  }

  #wrong(what: string, line = this.#line): ModelyardError {
    const remedy =
      line === 1 ? ' The first line must be like {"modelyardTrace":1,"memory":{"ram":"24 GiB"}}.' : ''
    return new ModelyardError('invalid_request', `${this.#name}, line ${line}: ${what}.${remedy}`)
  }

  /** All that was read. @throws ModelyardError `invalid_request` */
  trace(): Trace {
    if (this.#header === undefined) throw this.#wrong('the trace is empty', 1)
    for (const [model, line] of this.#asked) {
      if (!this.#models.has(model)) throw this.#wrong(`no line describes the model "${model}"`, line)
    }
    this.#refuseCircles()
    const limits = limitsOf(this.#header)
    const host = { ...twice(limits), ...this.#header.host }
    return { limits, host, models: [...this.#models.values()], requests: this.#requests }
  }
}

function tooDeep(conversation: string, depth: number): string {
  return (
    `the conversation "${conversation}" begins with one that begins with another, ${depth} in a row; ` +
    `${DEEPEST} are allowed. Leave out the beginning of one between`
  )
}

function limitsOf(header: HeaderLine): PoolLimits {
  const { modelyardTrace: _, memory = {}, host: __, contexts, ...others } = header
  const limits = { ...defaultLimits(memory), ...others }
  if (contexts === undefined || contexts === false) return limits
  return { ...limits, parking: { mode: 'worth', ...(contexts !== true && { budget: contexts }) } }
}

function twice({ memory }: PoolLimits): Charges {
  const host: Charges = {}
  for (const domain of domainsOf(memory)) host[domain] = 2 * (memory[domain]?.budget ?? 0)
  return host
}

function simulatedModel(id: string, { bytes = 0, ...others }: ModelLine): SimulatedModel {
  const byDomain: Charges = typeof bytes === 'number' ? { ram: bytes } : bytes
  const footprint: SimulatedModel['footprint'] = {}
  for (const domain of domainsOf(byDomain)) {
    footprint[domain] = { weights: byDomain[domain] ?? 0, context: 0, compute: 0, base: 0 }
  }
  return { loadTime: 5000, ...others, id, footprint }
}
