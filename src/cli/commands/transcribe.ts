import { readFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import { subtitles } from '../../dialects/openai/audio/subtitles.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { noteWaiting } from '../render/waiting.ts'

export interface TranscribeOptions extends YardOptionsOfCommand {
  model: string
  language?: string
  translate?: boolean
  format: string
}

/** `modelyard transcribe FILE`: what is said goes to standard output. */
export async function transcribe(
  context: CommandContext,
  file: string,
  options: TranscribeOptions,
): CommandResult {
  const audio = await readSound(file)
  await using yard = await context.openYard(options, { models: [options.model], toRun: true })
  const note = noteWaiting(context, yard, options.model)
  try {
    const { language, translate = false, model } = options
    const wishes = { model, audio, file: basename(file), translate, signal: context.signal }
    const heard = await yard.transcribe({ ...wishes, ...(language !== undefined && { language }) })
    await note.stop()
    if (options.json === true) await context.out.json(heard)
    else if (options.format === 'text') await context.out.line(heard.text)
    else await context.out.write(subtitles(heard.segments, options.format === 'srt' ? 'srt' : 'vtt'))
  } finally {
    await note.stop()
  }
}

async function readSound(file: string): Promise<Uint8Array> {
  return readFile(resolve(file)).catch((cause: unknown) => {
    const { message } = cause as Error
    throw new ModelyardError('invalid_request', `The sound file cannot be read: ${message}`, { cause })
  })
}
