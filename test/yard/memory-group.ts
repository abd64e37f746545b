import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from './harness.ts'

const ROOT = '/sys/fs/cgroup'

/** A real control group with a limit of memory, as a container has. Version 1 or 2, whichever is here. */
export class MemoryGroup {
  readonly directory: string
  readonly #version: 1 | 2

  private constructor(directory: string, version: 1 | 2) {
    this.directory = directory
    this.#version = version
  }

  /** @returns a group, or why there is none: on most machines only root may make one */
  static create(bytes: number): MemoryGroup | string {
    const version = existsSync(join(ROOT, 'cgroup.controllers')) ? 2 : 1
    const directory = join(ROOT, version === 2 ? '' : 'memory', `modelyard-test-${process.pid}`)
    try {
      mkdirSync(directory)
      const group = new MemoryGroup(directory, version)
      group.#write(version === 2 ? 'memory.max' : 'memory.limit_in_bytes', String(bytes))
      if (version === 2) group.#write('memory.swap.max', '0')
      return group
    } catch (error) {
      if (existsSync(directory)) rmdirSync(directory)
      return `no memory control group can be made here (${(error as Error).message})`
    }
  }

  /** Processes that the kernel ended in this group because its memory ran out. */
  get kills(): number {
    const file = this.#version === 2 ? 'memory.events' : 'memory.oom_control'
    const [, count] = /^oom_kill (\d+)$/m.exec(this.#read(file)) ?? []
    if (count === undefined) throw new Error(`${file} does not tell oom_kill`)
    return Number(count)
  }

  /** Bytes in use, file pages included. */
  get usage(): number {
    return Number(this.#read(this.#version === 2 ? 'memory.current' : 'memory.usage_in_bytes'))
  }

  get processes(): number[] {
    return this.#read('cgroup.procs').split('\n').filter(Boolean).map(Number)
  }

  /** Once its processes are gone. */
  async remove(): Promise<void> {
    await until(() => this.processes.length === 0)
    rmdirSync(this.directory)
  }

  #read(file: string): string {
    return readFileSync(join(this.directory, file), 'latin1')
  }

  #write(file: string, value: string): void {
    writeFileSync(join(this.directory, file), value)
  }
}
