import { Command, CommanderError } from 'commander'
import { ModelyardError } from '../base/errors.ts'
import type { CommandContext, CommandResult } from './command-context.ts'
import { addCommands, examples } from './command-table.ts'
import type { ExitCode } from './exit-codes.ts'

/** Runs one command line. @returns undefined when the command has no exit code of its own. @throws ModelyardError what the command met, and `invalid_request` for a wrong command line */
export async function runProgram(
  context: CommandContext,
  words: readonly string[],
): Promise<ExitCode | undefined> {
  let exitCode: ExitCode | undefined
  const printed: string[] = []
  const root = createRoot(context, (text) => printed.push(text))
  addCommands(root, context, async (result: CommandResult) => {
    exitCode = (await result) ?? undefined
  })
  try {
    await root.parseAsync(words.length === 0 ? ['--help'] : [...words], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    const isHelp = error.exitCode === 0 || error.code === 'commander.help'
    if (!isHelp) throw usageError(error, words, root)
    await context.out.write(printed.join(''))
  }
  return exitCode
}

function createRoot({ out }: CommandContext, print: (text: string) => void): Command {
  return new Command('modelyard')
    .description('A local AI model server: one process owns every model on this machine.')
    .option('-V, --version', 'show the version')
    .helpCommand('help [COMMAND]', 'show what a command does')
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureOutput({
      writeOut: print,
      writeErr: print,
      outputError: () => undefined,
      getOutHelpWidth: () => Math.min(out.columns, 120),
      getOutHasColors: () => false,
    })
    .addHelpText('after', examples('serve', 'run smollm2 "What is the capital of France?"', 'help run'))
}

/** Commander's sentence, nearest name included, without its own prefix, and where to read on. */
function usageError(error: CommanderError, words: readonly string[], root: Command): ModelyardError {
  const sentence = error.message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ')
  const help = ['modelyard', ...commandIn(words, root), '--help'].join(' ')
  return new ModelyardError('invalid_request', `${sentence}${/[.?)]$/.test(sentence) ? '' : '.'} See ${help}`)
}

/** The command and its subcommand, as far as there are such; options are its innermost's. */
function commandIn([first, ...others]: readonly string[], { commands }: Command): string[] {
  const command = commands.find((known) => known.name() === first)
  return command === undefined ? [] : [command.name(), ...commandIn(others, command)]
}
