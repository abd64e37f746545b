import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { visionOf } from './vision-part.ts'

const folder = await mkdtemp(join(tmpdir(), 'modelyard-vision-part-'))
afterAll(async () => rm(folder, { recursive: true, force: true }))

/** A file with tensors of so many bytes, and none of these bytes. */
async function weights(tensors: Record<string, number>): Promise<string> {
  let at = 0
  const header = Object.fromEntries(
    Object.entries(tensors).map(([name, bytes]) => [name, { data_offsets: [at, (at += bytes)] }]),
  )
  return await file(JSON.stringify({ __metadata__: { format: 'pt' }, ...header }))
}

let files = 0
async function file(header: string, length = header.length): Promise<string> {
  const path = join(folder, `${files++}.safetensors`)
  const size = Buffer.alloc(8)
  size.writeBigUInt64LE(BigInt(length))
  await writeFile(path, Buffer.concat([size, Buffer.from(header)]))
  return path
}

const SEEING = { model_type: 'qwen2_vl', vision_config: { embed_dim: 32, hidden_size: 64, patch_size: 16 } }

describe('the part of a model that sees', () => {
  it('is counted by the headers of all its files', async () => {
    const paths = [
      await weights({ 'model.layers.0.mlp.down_proj.weight': 1000, 'visual.patch_embed.proj.weight': 64 }),
      await weights({ 'multi_modal_projector.linear_1.weight': 8, 'lm_head.weight': 500 }),
    ]
    expect(await visionOf(SEEING, paths)).toEqual({
      modelType: 'qwen2_vl',
      weightBytes: 72,
      width: 32,
      patchSize: 16,
    })
  })

  it('is there in models that mlx_lm does not know and that say nothing of it, with what is usual', async () => {
    const paths = [await weights({ 'model.vision_embed_tokens.img_processor.weight': 10 })]
    expect(await visionOf({ model_type: 'phi3_v' }, paths)).toMatchObject({ weightBytes: 10, width: 1280 })
    expect(await visionOf({ model_type: 'phi3' }, paths)).toBeUndefined()
  })

  it('is not there when its weights are not, whatever the configuration says', async () => {
    const paths = [await weights({ 'model.embed_tokens.weight': 1000, 'visual.nothing': 0 })]
    expect(await visionOf(SEEING, paths)).toBeUndefined()
    expect(await visionOf(SEEING, [])).toBeUndefined()
  })

  it('weights without a header are damaged; those of models that read text alone are not looked at', async () => {
    const broken = [await file('no JSON'), await file('{}', 9), await file('{}', 2 ** 40), await file('[]')]
    for (const path of broken) {
      await expect(visionOf(SEEING, [path])).rejects.toMatchObject({ code: 'model_file_invalid' })
      await expect(visionOf({ model_type: 'llama', vision_config: null }, [path])).resolves.toBeUndefined()
    }
  })
})
