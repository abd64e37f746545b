import { copyFileSync, existsSync, mkdirSync, renameSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { makeTinyModel, type TinyModelOptions } from './make-tiny-gguf.ts'

const FOLDER = resolve(import.meta.dirname, '../../.cache/generated')

/** Made when it is first asked for. Appears under its name when it is whole, so that two test files may ask at once. */
function cached(name: string, make: (path: string) => void): string {
  const path = join(FOLDER, name)
  if (existsSync(path)) return path
  mkdirSync(FOLDER, { recursive: true })
  const unfinished = `${path}.${process.pid}`
  make(unfinished)
  renameSync(unfinished, path)
  return path
}

const SIZED: TinyModelOptions = {
  mode: 'script',
  // Few words: each reads all of the weights.
  chains: [{ after: '\n', pieces: ['Hello', '!'] }],
  dimension: 512,
  layers: 24,
  heads: 4,
  keyValueHeads: 4,
  feedForward: 1024,
  context: 131_072,
}

/** What the models of {@link sizedModel} answer, whatever is asked. */
export const SIZED_ANSWER = 'Hello!'

/** A model of 250 MB of weights whose context takes 48 KiB per token. Each copy is a file of its own, so that no weights are shared. */
export function sizedModel(copy: 'a' | 'b'): string {
  const first = cached('sized-hello-a.gguf', (path) => makeTinyModel(path, SIZED))
  return copy === 'a' ? first : cached('sized-hello-b.gguf', (path) => copyFileSync(first, path))
}
