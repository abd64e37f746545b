import { writeFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import { AUDIO_FORMATS, type AudioFormat } from '../../tasks/speech-task.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { noteWaiting } from '../render/waiting.ts'

export interface SpeakOptions extends YardOptionsOfCommand {
  model: string
  output?: string
  voice?: string
}

/** `modelyard speak TEXT…`: the sound goes to a file; into a pipe it goes as WAV. */
export async function speak(context: CommandContext, words: string[], options: SpeakOptions): CommandResult {
  const { output, model, voice } = options
  if (output === undefined && context.out.isTerminal) {
    const message = 'A terminal cannot show a sound. Name a file with --output, or pipe it into a player.'
    throw new ModelyardError('invalid_request', message)
  }
  const format = formatOf(output)
  await using yard = await context.openYard(options, { models: [model], toRun: true })
  const note = noteWaiting(context, yard, model)
  try {
    const wishes = { model, text: words.join(' '), format, signal: context.signal }
    const sound = await yard.speak({ ...wishes, ...(voice !== undefined && { voice }) })
    if (output === undefined) await context.out.write(sound)
    else await writeFile(resolve(output), sound)
  } finally {
    await note.stop()
  }
}

function formatOf(output: string | undefined): AudioFormat {
  if (output === undefined) return 'wav'
  const ending = extname(output).slice(1).toLowerCase()
  const format = AUDIO_FORMATS.find((known) => known === ending)
  if (format !== undefined) return format
  const known = AUDIO_FORMATS.map((name) => `.${name}`).join(', ')
  throw new ModelyardError('invalid_request', `--output must end in one of ${known}; it is "${output}".`)
}
