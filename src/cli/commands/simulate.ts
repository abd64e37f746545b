import { open } from 'node:fs/promises'
import { ModelyardError } from '../../base/errors.ts'
import type { YardConfiguration } from '../../config/yard-configuration.ts'
import { comparisonPolicy, type ComparisonPolicy } from '../../pool/simulation/comparison-policies.ts'
import { TraceReader } from '../../pool/simulation/read-trace.ts'
import { simulateStoppably, type SimulationOptions } from '../../pool/simulation/simulate.ts'
import type { Trace } from '../../pool/simulation/trace.ts'
import { commandConfiguration } from '../command-configuration.ts'
import type { CommandContext, CommandResult } from '../command-context.ts'
import { EXIT } from '../exit-codes.ts'
import { renderSimulations, type NamedReport } from '../render/simulations.ts'
import { withConfiguration } from '../trace-configuration.ts'

export interface SimulateOptions {
  config?: string
  /** Another configuration, side by side. */
  compare?: string
  /** Other policies, side by side. */
  policy?: readonly ComparisonPolicy[]
  /** What is spared of prompts without affinity, with it, and with a disk for contexts as well, side by side. */
  beginnings?: boolean
  json?: boolean
}

/** `modelyard simulate TRACE`: what the policy makes of a day, in no time. Exit code 1 when more was in memory than may be. */
export async function simulate(
  context: CommandContext,
  file: string,
  { config, compare, policy = [], beginnings = false, json }: SimulateOptions,
): CommandResult {
  const recorded = await readFile(context, file)
  const trace = config === undefined ? recorded : await configured(context, recorded, config)
  const reports = beginnings
    ? await compareBeginnings(context, trace)
    : [await run(context, config ?? 'as recorded', trace)]
  if (compare !== undefined) {
    reports.push(await run(context, compare, await configured(context, recorded, compare)))
  }
  for (const name of policy) reports.push(await run(context, name, trace, { decide: comparisonPolicy(name) }))
  if (json === true) await context.out.json({ trace: file, simulations: reports })
  else await context.out.line(renderSimulations(reports))
  return reports.some(({ overBudget }) => overBudget > 0) ? EXIT.failure : EXIT.ok
}

/** The third is the policy as it is, with a disk for contexts even if the trace has none. */
async function compareBeginnings(context: CommandContext, trace: Trace): Promise<NamedReport[]> {
  const { parking } = trace.limits
  const isParked = parking !== undefined && parking.mode !== 'off'
  const parked: Trace = isParked
    ? trace
    : { ...trace, limits: { ...trace.limits, parking: { mode: 'worth' } } }
  return [
    await run(context, 'no affinity', trace, { decide: comparisonPolicy('without-affinity') }),
    await run(context, 'affinity', trace, { decide: comparisonPolicy('without-parking') }),
    await run(context, 'affinity + parking', parked),
  ]
}

async function run(
  { clock, signal }: CommandContext,
  name: string,
  trace: Trace,
  options: SimulationOptions = {},
): Promise<NamedReport> {
  const before = clock.now()
  const report = await simulateStoppably(trace, { ...options, clock, signal })
  const took = Math.max(1, clock.now() - before)
  return { name, eventsPerSecond: Math.round((report.events * 1000) / took), ...report }
}

async function configured(context: CommandContext, trace: Trace, config: string): Promise<Trace> {
  const { configuration }: { configuration: YardConfiguration } = await commandConfiguration(context, {
    config,
  })
  return withConfiguration(trace, configuration)
}

/** Bytes of a trace that are cut into lines together. */
const PIECE = 1024 ** 2

/** Cut into lines here: `readLines` of node takes longer for a line than the policy for its request. */
async function readFile({ signal }: CommandContext, file: string): Promise<Trace> {
  const reader = new TraceReader(file)
  let rest = ''
  try {
    await using handle = await open(file)
    for await (const piece of handle.createReadStream({ encoding: 'utf8', highWaterMark: PIECE })) {
      signal.throwIfAborted()
      const lines = `${rest}${piece as string}`.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) reader.read(line)
    }
  } catch (error) {
    if (error instanceof ModelyardError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'there is no such file' : message
    throw new ModelyardError('invalid_request', `Cannot read the trace ${file}: ${why}.`, { cause: error })
  }
  reader.read(rest)
  return reader.trace()
}
