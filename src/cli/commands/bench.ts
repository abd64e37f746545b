import { listenTo, UnfinishedAnswer } from '../answer-text.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { renderBench, type BenchReport, type Spread } from '../render/bench.ts'
import { noteWaiting } from '../render/waiting.ts'
import type { AnswerSummary, Question, YardClient } from '../yard-client.ts'

export interface BenchOptions extends YardOptionsOfCommand {
  /** How often it is measured. Default 5. */
  rounds?: number
  /** Questions at once in each round. Default 1. */
  parallel?: number
  /** Of each question. Default 200. */
  words?: number
  /** Of each answer, at most. Default 64. */
  maxTokens?: number
}

/** One answer, as it was seen from here; milliseconds. */
interface Seen {
  readonly summary: AnswerSummary
  readonly firstToken: number | undefined
}

/**
 * `modelyard bench MODEL`: how fast a model answers here, beside whatever else the yard does. A question that is not counted loads it; no two
 * questions have a beginning in common beyond the template's own.
 */
export async function bench(context: CommandContext, model: string, options: BenchOptions): CommandResult {
  const { rounds = 5, parallel = 1 } = options
  await using yard = await context.openYard(options, { models: [model], toRun: true })
  const ended = new AbortController()
  const questions: Questions = { ...options, model, signal: AbortSignal.any([context.signal, ended.signal]) }
  try {
    const { summary } = await warmUp(context, yard, questions)
    const measured: Round[] = []
    for (let round = 1; round <= rounds; round++)
      measured.push(await playRound(context, yard, questions, round, parallel))
    const report = reportOf(summary, measured, parallel)
    await (options.json === true ? context.out.json(report) : context.out.line(renderBench(report)))
  } finally {
    // Those that were asked together with one that failed.
    ended.abort()
  }
}

interface Questions extends BenchOptions {
  readonly model: string
  readonly signal: AbortSignal
}

interface Round {
  readonly answers: readonly Seen[]
  /** Answer tokens a second, of all together. */
  readonly together: number | undefined
}

async function warmUp(context: CommandContext, yard: YardClient, questions: Questions): Promise<Seen> {
  const note = noteWaiting(context, yard, questions.model)
  try {
    return await ask(context, yard, questionOf(questions, 'first'))
  } finally {
    await note.stop()
  }
}

async function playRound(
  context: CommandContext,
  yard: YardClient,
  questions: Questions,
  round: number,
  parallel: number,
): Promise<Round> {
  const begun = context.clock.now()
  const asked = Array.from({ length: parallel }, (_, index) =>
    ask(context, yard, questionOf(questions, `${round}.${index + 1}`)),
  )
  const answers = await Promise.all(asked)
  const tokens = answers.reduce((sum, { summary }) => sum + summary.usage.completionTokens, 0)
  return { answers, together: perSecond(tokens, context.clock.now() - begun) }
}

const WORDS = 'the river carries small boats past old stone houses where people wait for evening rain'.split(
  ' ',
)

function questionOf({ model, signal, words = 200, maxTokens = 64 }: Questions, name: string): Question {
  const text = Array.from({ length: words }, (_, index) => WORDS[index % WORDS.length]).join(' ')
  const content = `Question ${name}. Tell a long story that goes on from here: ${text}`
  return { model, messages: [{ role: 'user', content }], sampling: { temperature: 0 }, maxTokens, signal }
}

async function ask({ clock }: CommandContext, yard: YardClient, question: Question): Promise<Seen> {
  const asked = clock.now()
  let firstToken: number | undefined
  const note = (): void => {
    firstToken ??= clock.now() - asked
  }
  try {
    const { summary } = await listenTo(yard.ask(question), { text: note, reasoning: note })
    return { summary, firstToken }
  } catch (error) {
    throw error instanceof UnfinishedAnswer ? error.cause : error
  }
}

function reportOf({ model, loadMs }: AnswerSummary, rounds: readonly Round[], parallel: number): BenchReport {
  const answers = rounds.flatMap((round) => round.answers)
  const usages = answers.map(({ summary }) => summary.usage)
  const isCounted = usages.every(({ unknown }) => unknown !== true)
  const spreadIf = (numbers: readonly (number | undefined)[]): Spread | null =>
    isCounted ? spreadOf(numbers) : null
  return {
    model,
    rounds: rounds.length,
    parallel,
    loadMs: loadMs ?? null,
    promptTokens: spreadIf(usages.map(({ promptTokens, cachedTokens }) => promptTokens - cachedTokens)),
    completionTokens: spreadIf(usages.map(({ completionTokens }) => completionTokens)),
    firstToken: spreadOf(answers.map(({ firstToken }) => firstToken)),
    prefill: spreadIf(
      answers.map(({ summary: { usage, timings } }) =>
        perSecond(usage.promptTokens - usage.cachedTokens, timings?.prefill),
      ),
    ),
    decode: spreadIf(
      answers.map(({ summary: { usage, timings } }) => perSecond(usage.completionTokens, timings?.decode)),
    ),
    together: spreadIf(rounds.map(({ together }) => together)),
  }
}

/** Undefined where nobody can tell, or nothing was made. */
function perSecond(tokens: number, milliseconds: number | undefined): number | undefined {
  if (tokens <= 0 || milliseconds === undefined || milliseconds <= 0) return undefined
  return (tokens * 1000) / milliseconds
}

/** Of those that are known; null when none is. */
function spreadOf(numbers: readonly (number | undefined)[]): Spread | null {
  const sorted = numbers.filter((number) => number !== undefined).sort((a, b) => a - b)
  const [least] = sorted
  const most = sorted.at(-1)
  if (least === undefined || most === undefined) return null
  const middle = (sorted.length - 1) / 2
  const median = ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2
  return { median, least, most }
}
