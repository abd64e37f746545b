import { LineSplitter } from '../../host/line-splitter.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { safeText } from '../render/safe-text.ts'

export interface LogOptions extends YardOptionsOfCommand {
  lines?: number
  follow?: boolean
}

/** `modelyard logs MODEL|INSTANCE`: what its worker wrote; as JSON a document for each line. */
export async function logs(context: CommandContext, name: string, options: LogOptions): CommandResult {
  await using yard = await context.openYard(options)
  const { lines = 100, follow = false, json = false } = options
  const pieces = yard.logs(name, { lines, follow, signal: context.signal })
  for await (const piece of json ? documentsOf(pieces) : pieces) {
    await context.out.write(context.out.isTerminal && !json ? safeText(piece) : piece)
    if (!context.out.open) return
  }
}

/** Pieces end anywhere, lines where they end. */
async function* documentsOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  const ready: string[] = []
  const splitter = new LineSplitter((line) => ready.push(`${JSON.stringify({ line })}\n`))
  for await (const piece of pieces) {
    splitter.write(piece)
    yield* ready.splice(0)
  }
  splitter.end()
  yield* ready
}

/** `modelyard events`: everything that happens, a line each, until it is interrupted. */
export async function events(context: CommandContext, options: YardOptionsOfCommand): CommandResult {
  await using yard = await context.openYard(options)
  for await (const event of yard.events(context.signal)) {
    const { at, name, data } = event
    if (options.json === true) await context.out.line(JSON.stringify(event))
    else await context.out.line(`${new Date(at).toISOString()}  ${name}  ${JSON.stringify(data)}`)
    if (!context.out.open) return
  }
}
