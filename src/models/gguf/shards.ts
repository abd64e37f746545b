import { basename, dirname, join } from 'node:path'

const SHARD = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/i

export interface ShardName {
  /** File name without the numbers. */
  stem: string
  /** 1…count */
  number: number
  count: number
}

/** The parts of a name such as `model-00001-of-00003.gguf`; undefined for other names. */
export function parseShardName(path: string): ShardName | undefined {
  const match = SHARD.exec(basename(path))
  if (match === null) return undefined
  const [, stem = '', number, count] = match
  return { stem, number: Number(number), count: Number(count) }
}

/** The paths of all files of the set that `path` belongs to, first to last; `path` alone for other names. */
export function shardPaths(path: string): string[] {
  const shard = parseShardName(path)
  if (shard === undefined || shard.count < 1) return [path]
  return Array.from({ length: shard.count }, (_, index) =>
    join(dirname(path), shardName(shard.stem, index + 1, shard.count)),
  )
}

function shardName(stem: string, number: number, count: number): string {
  return `${stem}-${String(number).padStart(5, '0')}-of-${String(count).padStart(5, '0')}.gguf`
}
