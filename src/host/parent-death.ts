import { spawnSync } from 'node:child_process'

const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv', '/run/current-system/sw/bin/setpriv']

let wrapper: string | null | undefined

/** util-linux knows `--pdeathsig`, BusyBox does not: asked once per process (about 3 ms). */
function findWrapper(): string | null {
  const works = (path: string): boolean =>
    spawnSync(path, ['--pdeathsig', 'KILL', '/bin/true'], { stdio: 'ignore' }).status === 0
  return process.platform === 'linux' ? (SETPRIV.find(works) ?? null) : null
}

/**
 * Command line of a program, given by its absolute path, that makes the kernel end the child when its parent dies, however busy the child is then (R15, BR-19). `setpriv`
 * replaces itself by the command, so pid and signals are the command's own. Where there is no `setpriv`, the command stays as it
 * is, and the child's own watch (stdin EOF, parent pid) has to do.
 */
export function boundToParent(program: string, args: readonly string[]): { command: string; args: string[] } {
  if (wrapper === undefined) wrapper = findWrapper()
  if (wrapper === null) return { command: program, args: [...args] }
  return { command: wrapper, args: ['--pdeathsig', 'KILL', '--', program, ...args] }
}
