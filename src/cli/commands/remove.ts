import { stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { formatBytes } from '../../base/bytes.ts'
import { ModelyardError } from '../../base/errors.ts'
import { readOwner } from '../../host/home-lock.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { isFetched, modelFiles, type ModelFiles } from '../model-files.ts'

export interface RemoveOptions extends YardOptionsOfCommand {
  yes?: boolean
}

/** `modelyard remove MODEL`: deletes fetched files after telling what that frees. Files that were not fetched are never touched. */
export async function remove(context: CommandContext, model: string, options: RemoveOptions): CommandResult {
  const files = await modelFiles(context, model, options)
  const path = await fetchedPath(files)
  await refuseWhileInMemory(context, files, options)
  const { size } = await stat(path)
  if (options.yes !== true && !(await confirm(context, files, path, size))) return
  const freed = await files.store.remove(path)
  if (options.json === true) await context.out.json({ model: files.id, path, freed })
  else await context.out.line(`${files.id} is gone; ${formatBytes(freed)} are free again.`)
}

async function fetchedPath({ id, source, store, configuration }: ModelFiles): Promise<string> {
  const path = await store.locate(source)
  if (path === undefined) {
    throw new ModelyardError('model_not_found', `"${id}" has not been fetched: there is nothing to remove.`)
  }
  if (isFetched(path, configuration)) return path
  throw new ModelyardError(
    'invalid_request',
    `${path} is your own file, not one that was fetched. Delete it yourself if you want it gone.`,
  )
}

/** A file that is mapped into memory must not be deleted under a running server: its next load would fetch it again. */
async function refuseWhileInMemory(
  context: CommandContext,
  { id }: ModelFiles,
  options: RemoveOptions,
): Promise<void> {
  const owner = await readOwner(context.directories.home)
  if (owner?.url === undefined) return
  await using yard = await context.openYard(options)
  const { instances } = await yard.state()
  if (!instances.some(({ model }) => model === id)) return
  throw new ModelyardError(
    'invalid_request',
    `"${id}" is in the memory of the running server. Take it out first: modelyard unload ${id}`,
  )
}

/** Without a terminal nobody can be asked: --yes must say it. */
async function confirm(
  { stdin, err, signal }: CommandContext,
  { id }: ModelFiles,
  path: string,
  bytes: number,
): Promise<boolean> {
  const question = `Delete ${path} and free ${formatBytes(bytes)}? [y/N] `
  if (stdin.isTTY !== true) {
    const message = `Removing "${id}" would free ${formatBytes(bytes)} (${path}). Say --yes to do it.`
    throw new ModelyardError('invalid_request', message)
  }
  const lines = createInterface({ input: stdin, output: err.stream })
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      lines.on('SIGINT', () => reject(new ModelyardError('aborted', 'Interrupted.')))
      lines.on('close', () => resolve(''))
      lines.question(question, { signal }, resolve)
    })
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    lines.close()
  }
}
