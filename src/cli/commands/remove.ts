import { createInterface } from 'node:readline'
import { formatBytes } from '../../base/bytes.ts'
import { ModelyardError } from '../../base/errors.ts'
import { readOwner } from '../../host/home-lock.ts'
import type { Removal } from '../../models/registry.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { modelFiles } from '../model-files.ts'

export interface RemoveOptions extends YardOptionsOfCommand {
  yes?: boolean
}

/** `modelyard remove MODEL`: deletes fetched files after telling what that frees. Files that were not fetched are never touched. */
export async function remove(context: CommandContext, model: string, options: RemoveOptions): CommandResult {
  const { spec, registry } = await modelFiles(context, model, options)
  const plan = await registry.planRemoval(spec.id)
  refuseWhenShared(spec.id, plan)
  await refuseWhileInMemory(context, spec.id, options)
  if (options.yes !== true && !(await confirm(context, spec.id, plan))) return
  const { path, bytes } = await registry.remove(spec.id)
  if (options.json === true) await context.out.json({ model: spec.id, path, freed: bytes })
  else await context.out.line(`${spec.id} is gone; ${formatBytes(bytes)} are free again.`)
}

function refuseWhenShared(id: string, { keptFor }: Removal): void {
  if (keptFor.length === 0) return
  const others = keptFor.map((other) => `"${other}"`).join(', ')
  throw new ModelyardError(
    'invalid_request',
    `The files of "${id}" are also those of ${others}: they stay.`,
    {
      details: { keptFor },
    },
  )
}

/** A model that is in memory must not lose its file: its next load would fetch it again, or fail. */
async function refuseWhileInMemory(
  context: CommandContext,
  id: string,
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
  id: string,
  { path, bytes }: Removal,
): Promise<boolean> {
  if (stdin.isTTY !== true) {
    const message = `Removing "${id}" would free ${formatBytes(bytes)} (${path}). Say --yes to do it.`
    throw new ModelyardError('invalid_request', message)
  }
  const lines = createInterface({ input: stdin, output: err.stream })
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      lines.on('SIGINT', () => reject(new ModelyardError('aborted', 'Interrupted.')))
      lines.on('close', () => resolve(''))
      lines.question(`Delete ${path} and free ${formatBytes(bytes)}? [y/N] `, { signal }, resolve)
    })
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    lines.close()
  }
}
