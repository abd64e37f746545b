import { readFile } from 'node:fs/promises'
import { formatDuration } from '../../base/durations.ts'
import { ModelyardError } from '../../base/errors.ts'
import type { WarmResult } from '../../dialects/yard-port.ts'
import type { WarmRequest } from '../../runs/library-request.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { noteWaiting } from '../render/waiting.ts'

export interface WarmOptions extends YardOptionsOfCommand {
  prefix?: boolean
}

/** `modelyard warm MODEL FILE`: evaluates a beginning ahead and keeps it. */
export async function warm(
  context: CommandContext,
  model: string,
  file: string,
  { prefix = false, ...options }: WarmOptions,
): CommandResult {
  const beginning = beginningOf(file, await textOf(file), prefix)
  await using yard = await context.openYard(options)
  const note = noteWaiting(context, yard, model)
  let warmed: WarmResult
  try {
    warmed = await yard.warm({ model, ...beginning, signal: context.signal })
  } finally {
    await note.stop()
  }
  if (options.json === true) return await context.out.json(warmed)
  const { tokens, cachedTokens, took, kept } = warmed
  const known = cachedTokens === 0 ? '' : `, ${cachedTokens} of them were known`
  await context.out.line(
    `${warmed.model} has evaluated ${tokens} tokens in ${formatDuration(took)}${known}, ${kept ? 'and keeps them' : 'and keeps them in memory only'}.`,
  )
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    const message = `The file "${file}" cannot be read: ${(cause as Error).message}.`
    throw new ModelyardError('invalid_request', message, { details: { param: 'FILE' }, cause })
  }
}

/** JSON is a list of messages, or `{messages, tools}`; any other text a system message, or with `--prefix` the beginning of prompts. */
function beginningOf(file: string, text: string, isPrefix: boolean): Omit<WarmRequest, 'model'> {
  if (text.trim() === '')
    throw new ModelyardError('invalid_request', `The file "${file}" is empty; there is nothing to evaluate.`)
  if (isPrefix) return { prompt: text }
  if (!file.endsWith('.json')) return { messages: [{ role: 'system', content: text }] }
  try {
    const found = JSON.parse(text) as WarmRequest['messages'] | Pick<WarmRequest, 'messages' | 'tools'>
    if (Array.isArray(found)) return { messages: found }
    const { messages = [], tools } = found ?? {}
    return { messages, ...(tools !== undefined && { tools }) }
  } catch (cause) {
    const message = `The file "${file}" is no JSON: ${(cause as Error).message}. Give a list of messages, or {messages, tools}.`
    throw new ModelyardError('invalid_request', message, { details: { param: 'FILE' }, cause })
  }
}
