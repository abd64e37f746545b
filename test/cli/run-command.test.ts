import { getPriority } from 'node:os'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../src/host/run-command.ts'

function node(script: string): { command: string; args: string[] } {
  return { command: process.execPath, args: ['-e', script] }
}

describe('runCommand', () => {
  it('gives every line as it comes, from both outputs, and the exit code as a value', async () => {
    const lines: string[] = []
    const outcome = await runCommand({
      ...node(`process.stdout.write('a\\nb'); process.stderr.write('c\\r\\nd'); process.exitCode = 3`),
      onLine: (line, from) => lines.push(`${from} ${line}`),
    })
    expect(lines.toSorted()).toEqual(['stderr c', 'stderr d', 'stdout a', 'stdout b'])
    expect(outcome).toMatchObject({ code: 3, signal: null })
  })

  it('arguments reach the program as they are: no shell reads them', async () => {
    const { logTail } = await runCommand({
      command: process.execPath,
      args: ['-e', 'console.log(process.argv[1])', '--', '$(id); "quoted" & *'],
    })
    expect(logTail).toEqual(['$(id); "quoted" & *'])
  })

  it('a command that does not exist is told by its error', async () => {
    const outcome = await runCommand({ command: 'modelyard-no-such-command', args: [] })
    expect(outcome).toMatchObject({ code: null, error: { code: 'ENOENT' } })
  })

  it('an abort ends the program and throws the reason', async () => {
    const controller = new AbortController()
    let pid = 0
    const done = runCommand({
      ...node('console.log(process.pid); setInterval(() => {}, 1000)'),
      signal: controller.signal,
      onLine: (line) => {
        pid = Number(line)
        controller.abort()
      },
    })
    await expect(done).rejects.toMatchObject({ code: 'aborted' })
    expect(pid).toBeGreaterThan(0)
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })

  it.skipIf(process.platform === 'win32')(
    'work in the background has a low priority, and never a higher one than we have',
    async () => {
      const asked = node('console.log(require("node:os").getPriority())')
      const own = getPriority()
      const { logTail } = await runCommand({ ...asked, background: true })
      expect(logTail).toEqual([String(Math.max(own, 10))])
    },
  )

  it('the environment of the user is passed, with what is added', async () => {
    const { logTail } = await runCommand({
      ...node('console.log(process.env.PATH === undefined, process.env.ADDED)'),
      environment: { ADDED: 'yes' },
    })
    expect(logTail).toEqual(['false yes'])
  })
})
