import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { findLocalModel } from './find-local-model.ts'

const root = await mkdtemp(join(tmpdir(), 'modelyard-find-'))
afterAll(async () => rm(root, { recursive: true, force: true }))

async function folderOf(name: string, files: readonly string[]): Promise<string> {
  const folder = join(root, name)
  await mkdir(join(folder, 'onnx'), { recursive: true })
  for (const file of files) await writeFile(join(folder, file), '')
  return folder
}

describe('the model in a folder', () => {
  it.each([
    ['onnx', ['config.json', 'onnx/model.onnx']],
    ['safetensors', ['config.json', 'model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']],
  ])('of several files (%s) is the folder', async (name, files) => {
    const folder = await folderOf(name, files)
    expect(await findLocalModel(folder)).toBe(folder)
  })

  it('is its GGUF file where it has one, whatever else is there', async () => {
    const folder = await folderOf('both', ['config.json', 'model.safetensors', 'model.gguf', 'mmproj.gguf'])
    expect(await findLocalModel(folder)).toBe(join(folder, 'model.gguf'))
  })

  it.each([
    ['empty', []],
    ['weights alone', ['model.safetensors']],
    ['a configuration alone', ['config.json']],
  ])('is not there: %s', async (name, files) => {
    const folder = await folderOf(name, files)
    await expect(findLocalModel(folder)).rejects.toMatchObject({
      code: 'model_not_found',
      message: expect.stringContaining('safetensors with a config.json') as string,
    })
  })
})
