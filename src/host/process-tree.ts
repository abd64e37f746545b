import { readdirSync, readFileSync } from 'node:fs'
import { sleep, type Clock } from '../base/clock.ts'
import { readProcessStat } from './process-identity.ts'

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}

/** The process and all that descend from it, itself first. Linux reads `/proc/PID/task/…/children`; elsewhere only itself. */
export function processTree(pid: number): number[] {
  const tree = [pid]
  for (let index = 0; index < tree.length; index++) tree.push(...childrenOf(tree[index] ?? 0))
  return tree
}

/** Living members of a process group (zombies are not); Linux only. */
export function groupMembers(group: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const stat = readProcessStat(pid)
      return stat !== undefined && stat.group === group && stat.state !== 'Z'
    })
}

/** Whether a process group has living members. One system call in the usual case that it has none. */
export function groupExists(group: number): boolean {
  try {
    process.kill(-group, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return process.platform === 'linux' ? groupMembers(group).length > 0 : true
}

/** Signals a whole group; false when nobody is left in it. */
export function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-group, signal)
    return true
  } catch {
    return false
  }
}

/** Signals one process; false when it is gone. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal)
    return true
  } catch {
    return false
  }
}

/** Waits until a group has no living member, at most `milliseconds`. @returns whether it is gone */
export async function waitForGroupEnd(group: number, milliseconds: number, clock: Clock): Promise<boolean> {
  const deadline = clock.now() + milliseconds
  while (groupExists(group)) {
    if (clock.now() >= deadline) return false
    await sleep(clock, 15)
  }
  return true
}
