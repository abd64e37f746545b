import { describe, expect, it } from 'vitest'
import { parseHubSource } from '../hub-source.ts'
import type { HubFile } from './hub-client.ts'
import { meansFolder, pickHubFolder, type FolderDescription } from './pick-hub-folder.ts'

const CONFIGURATION = { model_type: 'qwen2', architectures: ['Qwen2ForCausalLM'] }
const SHARDS = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']
const INDEX = { weight_map: { a: SHARDS[1], b: SHARDS[0], c: SHARDS[0] } }

function filesOf(...paths: string[]): HubFile[] {
  return paths.map((path): HubFile => ({ path, size: 1 }))
}

function pick(paths: readonly string[], more: Partial<FolderDescription> = {}, source = 'hf:o/r'): string[] {
  const about = { configuration: CONFIGURATION, index: undefined, ...more }
  return pickHubFolder(parseHubSource(source), filesOf(...paths), about).map(({ path }) => path)
}

describe('meansFolder', () => {
  const means = (source: string, ...paths: string[]): boolean =>
    meansFolder(parseHubSource(source), filesOf(...paths))

  it('is so where there is no GGUF file, or where somebody says so', () => {
    expect(means('hf:o/r', 'model.safetensors')).toBe(true)
    expect(means('hf:o/r', 'mmproj-m.gguf', 'model.safetensors')).toBe(true)
    expect(means('hf:o/r', 'm.gguf', 'model.safetensors')).toBe(false)
    expect(means('hf:o/r:safetensors', 'm.gguf', 'model.safetensors')).toBe(true)
    expect(means('hf:o/r:SafeTensors', 'm.gguf')).toBe(true)
  })

  it('is not so where a file or a quantisation is named, or there are none', () => {
    expect(means('hf:o/r/model.safetensors', 'model.safetensors')).toBe(false)
    expect(means('hf:o/r:Q8_0', 'model.safetensors')).toBe(false)
    expect(means('hf:o/r', 'pytorch_model.bin')).toBe(false)
  })
})

describe('pickHubFolder', () => {
  it('takes the weights and data beside them; no pickles, programs, texts, pictures or other weights', () => {
    const wanted = [
      'config.json',
      'tokenizer.json',
      'chat_template.jinja',
      'qwen.tiktoken',
      'model.safetensors',
    ]
    const others = [
      'pytorch_model.bin',
      'modeling_qwen.py',
      'README.md',
      'LICENSE',
      'logo.png',
      'consolidated.safetensors',
      'adapter_model.safetensors',
      'onnx/model.onnx',
      'original/config.json',
      'training_args.json',
      '.gitattributes',
    ]
    expect(pick([...others, ...wanted])).toEqual(wanted)
  })

  it('takes the files that the index names, and only those', () => {
    const paths = [...SHARDS, 'model.safetensors', 'config.json', 'model.safetensors.index.json']
    const taken = ['config.json', 'model.safetensors.index.json', ...SHARDS]
    expect(pick(paths, { index: INDEX })).toEqual(taken)
  })

  it('takes a numbered set that has no index, when it is whole', () => {
    expect(pick(['config.json', ...SHARDS])).toEqual(['config.json', ...SHARDS])
    expect(() => pick(['config.json', SHARDS[1] ?? ''])).toThrow(`lacks ${SHARDS[0]}`)
  })

  it('says which shard is not there', () => {
    expect(() => pick(['config.json', SHARDS[0] ?? ''], { index: INDEX })).toThrow(
      `o/r (main) lacks ${SHARDS[1]}: not all parts of its weights are there.`,
    )
  })

  it.each(['../model.safetensors', '/model.safetensors', 'sub/model.safetensors', 'config.json', 7, null])(
    'refuses an index that names %s',
    (name) => {
      expect(() =>
        pick(['config.json', 'model.safetensors'], { index: { weight_map: { a: name } } }),
      ).toThrow('which is no file model….safetensors beside it. Nothing was fetched.')
    },
  )

  it.each([{}, [], 0, { weight_map: {} }, { weight_map: [] }])('refuses the index %j', (index) => {
    expect(() => pick(['config.json', 'model.safetensors'], { index })).toThrow('names no files')
  })

  it('leaves out data that is empty, and refuses weights that are', () => {
    const files = [...filesOf('config.json', 'model.safetensors'), { path: 'added_tokens.json', size: 0 }]
    const about = { configuration: CONFIGURATION, index: undefined }
    const source = parseHubSource('hf:o/r')
    expect(pickHubFolder(source, files, about).map(({ path }) => path)).toEqual([
      'config.json',
      'model.safetensors',
    ])
    const empty = [...filesOf('config.json'), { path: 'model.safetensors', size: 0 }]
    expect(() => pickHubFolder(source, empty, about)).toThrow(
      'has a model.safetensors that is empty (0 bytes)',
    )
  })

  it('says what is there where it is no model that mlx runs', () => {
    expect(() => pick(['a.safetensors', 'b.safetensors'], { configuration: undefined })).toThrow(
      'no config.json beside them: they are no model that mlx runs. A single file is fetched by its name: hf:o/r/a.safetensors',
    )
    expect(() => pick(['config.json', 'weights.00.safetensors'])).toThrow(
      'but weights.00.safetensors; mlx reads',
    )
    expect(() => pick(['config.json'], {}, 'hf:o/r:safetensors')).toThrow('has no safetensors')
    expect(() => pick(['config.json', 'model.safetensors'], { configuration: [] })).toThrow(
      'holds no JSON object',
    )
  })

  it('refuses what writes no text, unless it is asked for by name', () => {
    const configuration = { model_type: 'bert', architectures: ['BertModel'] }
    const paths = ['config.json', 'model.safetensors']
    expect(() => pick(paths, { configuration })).toThrow(
      'has safetensors for embedding; mlx runs models that write text',
    )
    expect(pick(paths, { configuration }, 'hf:o/r:safetensors')).toEqual(paths)
    expect(pick(paths, { configuration: {} })).toEqual(paths)
  })
})
