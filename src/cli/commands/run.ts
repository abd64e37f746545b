import { ModelyardError } from '../../base/errors.ts'
import type { Message } from '../../tasks/message.ts'
import type { Sampling } from '../../tasks/sampling.ts'
import { listenTo, UnfinishedAnswer, type AnswerListener, type ReadAnswer } from '../answer-text.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { safeText } from '../render/safe-text.ts'
import { cutNote, renderStatistics } from '../render/statistics.ts'
import { noteWaiting } from '../render/waiting.ts'
import type { Question, YardClient } from '../yard-client.ts'

export interface RunOptions extends YardOptionsOfCommand {
  system?: string
  temperature?: number
  topP?: number
  maxTokens?: number
  seed?: number
}

/** `modelyard run MODEL [PROMPT…]`: one question, the answer on standard output as it comes. */
export async function run(
  context: CommandContext,
  model: string,
  prompt: string[],
  options: RunOptions,
): CommandResult {
  const text = await promptText(context, prompt)
  await using yard = await context.openYard(options, { models: [model], toRun: true })
  const question: Question = {
    model,
    messages: messagesOf(text, options.system),
    sampling: samplingOf(options),
    ...(options.maxTokens !== undefined && { maxTokens: options.maxTokens }),
    signal: context.signal,
  }
  await (options.json === true ? runJson : runStreamed)(context, yard, question, options)
}

export function samplingOf(options: Pick<RunOptions, 'temperature' | 'topP' | 'seed'>): Sampling {
  const { temperature, topP, seed } = options
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(seed !== undefined && { seed }),
  }
}

function messagesOf(text: string, system: string | undefined): Message[] {
  const user: Message = { role: 'user', content: text }
  return system === undefined ? [user] : [{ role: 'system', content: system }, user]
}

/**
 * The prompt's words; `-` among them, or no words at all, stands for standard input. With words it is not read: a pipe that
 * somebody left open would hang the command.
 */
async function promptText(context: CommandContext, words: readonly string[]): Promise<string> {
  const dash = words.indexOf('-')
  if (words.length > 0 && dash === -1) return words.join(' ')
  if (words.length === 0 && context.stdin.isTTY === true) {
    throw new ModelyardError(
      'invalid_request',
      'There is no prompt. Write it after the model, pipe it in, or use `modelyard chat` to talk.',
    )
  }
  const piped = (await readAll(context)).replace(/\r?\n$/, '')
  const text = [words.slice(0, Math.max(dash, 0)).join(' '), piped, words.slice(dash + 1).join(' ')]
  const prompt = text.filter((part) => part !== '').join('\n\n')
  if (prompt === '') throw new ModelyardError('invalid_request', 'Standard input held no prompt.')
  return prompt
}

async function readAll(context: CommandContext): Promise<string> {
  const { stdin, signal } = context
  const stop = (): unknown => stdin.destroy(signal.reason as Error)
  signal.addEventListener('abort', stop, { once: true })
  const pieces: Buffer[] = []
  for await (const piece of stdin) pieces.push(Buffer.from(piece as Buffer))
  signal.removeEventListener('abort', stop)
  return Buffer.concat(pieces).toString('utf8')
}

async function runStreamed(
  context: CommandContext,
  yard: YardClient,
  question: Question,
  { verbose = false }: RunOptions,
): Promise<void> {
  const { out, err, clock } = context
  const asked = clock.now()
  let firstText: number | undefined
  let midLine = false
  const note = noteWaiting(context, yard, question.model)
  const listener: AnswerListener = {
    started: () => note.stop(),
    async text(text) {
      firstText ??= clock.now() - asked
      midLine = !text.endsWith('\n')
      await note.stop()
      await out.write(out.isTerminal ? safeText(text) : text)
    },
    async reasoning(text) {
      if (verbose) await err.write(err.colors.dim(safeText(text)))
    },
  }
  try {
    const answer = await listenTo(yard.ask(question), listener)
    if (midLine) await out.line()
    midLine = false
    await showToolCalls(context, answer)
    const cut = cutNote(answer.summary, question.maxTokens)
    if (cut !== undefined) await err.line(err.colors.dim(cut))
    if (verbose) await err.line(renderStatistics(answer.summary, firstText, clock.now() - asked))
  } catch (error) {
    rethrowCause(error)
  } finally {
    await note.stop()
    if (midLine) await out.line()
  }
}

async function showToolCalls({ err }: CommandContext, { toolCalls }: ReadAnswer): Promise<void> {
  for (const call of toolCalls) {
    await err.line(err.colors.dim(safeText(`[calls ${call.name}(${call.arguments})]`)))
  }
}

async function runJson({ out }: CommandContext, yard: YardClient, question: Question): Promise<void> {
  const { summary, ...answer } = await listenTo(yard.ask(question), { text: () => undefined }).catch(
    rethrowCause,
  )
  await out.json({ ...answer, ...summary })
}

/** What came until the failure is on the screen already. */
function rethrowCause(thrown: unknown): never {
  throw thrown instanceof UnfinishedAnswer ? thrown.cause : thrown
}
