import {
  createWriteStream,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  type WriteStream,
} from 'node:fs'
import { join } from 'node:path'

const FILE_SIZE = 4 * 1024 ** 2
const QUEUED = 1024 ** 2
const FILES_KEPT = 40

function removeOldest(directory: string): void {
  const logs = readdirSync(directory)
    .filter((name) => /\.log(\.1)?$/.test(name))
    .map((name) => ({ path: join(directory, name), changed: statSync(join(directory, name)).mtimeMs }))
    .sort((a, b) => b.changed - a.changed)
  for (const { path } of logs.slice(FILES_KEPT)) rmSync(path, { force: true })
}

/**
 * What a worker wrote, in a file of at most 4 MiB and one older part beside it (`.1`); the newest 40 files of a directory are
 * kept. A log that cannot be written never harms the worker (BR-25): it is given up.
 */
export class LogFile {
  readonly path: string
  #stream: WriteStream | undefined
  #size = 0

  constructor(directory: string, name: string) {
    this.path = join(directory, `${name.replaceAll(/[^\w.-]+/g, '_').slice(0, 80)}.log`)
    try {
      mkdirSync(directory, { recursive: true })
      removeOldest(directory)
      this.#open()
    } catch {
      this.#stream = undefined
    }
  }

  /** Text that the disk cannot take in time is dropped, never queued without end. */
  write(chunk: Buffer): void {
    if (this.#stream === undefined || this.#stream.writableLength > QUEUED) return
    if (this.#size + chunk.length > FILE_SIZE) this.#turn()
    this.#size += chunk.length
    this.#stream?.write(chunk)
  }

  close(): void {
    this.#stream?.end()
    this.#stream = undefined
  }

  #open(): void {
    const stream = createWriteStream(this.path, { flags: 'a', mode: 0o600 })
    stream.on('error', () => {
      if (this.#stream === stream) this.#stream = undefined
    })
    this.#stream = stream
    this.#size = 0
  }

  #turn(): void {
    this.#stream?.end()
    try {
      renameSync(this.path, `${this.path}.1`)
      this.#open()
    } catch {
      this.#stream = undefined
    }
  }
}
