import { writeFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { noteWaiting } from '../render/waiting.ts'
import type { ImageWishes } from '../yard-client.ts'

export interface DrawOptions extends YardOptionsOfCommand, Omit<ImageWishes, 'model' | 'prompt' | 'signal'> {
  model: string
  output?: string
}

/** `modelyard draw TEXT…`: the picture goes to a file; into a pipe it goes as PNG, too. */
export async function draw(context: CommandContext, words: string[], options: DrawOptions): CommandResult {
  const { output, model, size, steps, seed, guidance, negativePrompt } = options
  requirePlace(output, context.out.isTerminal)
  await using yard = await context.openYard(options, { models: [model], toRun: true })
  const note = noteWaiting(context, yard, model)
  try {
    const picture = await yard.draw({
      model,
      prompt: words.join(' '),
      ...(size !== undefined && { size }),
      ...(steps !== undefined && { steps }),
      ...(seed !== undefined && { seed }),
      ...(guidance !== undefined && { guidance }),
      ...(negativePrompt !== undefined && { negativePrompt }),
      signal: context.signal,
    })
    if (output === undefined) await context.out.write(picture)
    else await writeFile(resolve(output), picture)
  } finally {
    await note.stop()
  }
}

function requirePlace(output: string | undefined, isTerminal: boolean): void {
  if (output === undefined) {
    if (!isTerminal) return
    const message = 'A terminal cannot show a picture. Name a file with --output, or pipe it into a viewer.'
    throw new ModelyardError('invalid_request', message)
  }
  if (extname(output).toLowerCase() === '.png') return
  throw new ModelyardError('invalid_request', `--output must end in .png; it is "${output}".`)
}
