import { stat } from 'node:fs/promises'
import { formatBytes } from '../../base/bytes.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { fetchModel } from '../fetch-model.ts'
import { modelFiles } from '../model-files.ts'

/** `modelyard pull MODEL`: fetches its files; what is here already is left alone. */
export async function pull(
  context: CommandContext,
  model: string,
  options: YardOptionsOfCommand,
): CommandResult {
  const { id, source, store } = await modelFiles(context, model, options)
  const path = await fetchModel(context, store, source)
  const { size } = await stat(path)
  if (options.json === true) await context.out.json({ model: id, source, path, bytes: size })
  else await context.out.line(`${id} is here: ${path} (${formatBytes(size)})`)
}
