import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TINY_CHAT_FOLDER } from './paths.ts'
import { GREEN, png, RED, type Colour } from './tiny-image.ts'

interface Tensor {
  shape: number[]
  values: Float32Array
}

const IMAGE = '<|image_pad|>'
const IMAGE_ID = 359
const VIDEO_ID = 360
/** The model counts images by what stands before them: here the line end after a role. */
const LINE_END = 203
const HIDDEN = 128
const PATCH = 14
/** Width of the part that sees: red, green, blue, and nothing. */
const EYE = 4
/** What a pure colour is after the normalisation over red, green, blue and nothing (1, −1, −1, 0). */
const PURE = (1 + 0.25) / Math.sqrt(0.6875)
const GAIN = 10

/** A picture that the model of {@link writeTinyVision} takes for the word "hi": what it sees left is the "h", right the "i". */
export const HI: Uint8Array = png(56, 28, RED, GREEN)

/** A picture of one token that says nothing. */
export function plain(colour: Colour): Uint8Array {
  return png(28, 28, colour)
}

/**
 * tiny-chat with eyes, a Qwen2-VL: red is the token "h", green the token "i", each for 28 × 28 pixels; all else is a mix of them. Positions go
 * by the column alone, so that a picture of two tokens stands for a word exactly.
 */
export async function writeTinyVision(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  await cp(join(TINY_CHAT_FOLDER, 'generation_config.json'), join(folder, 'generation_config.json'))
  await writeJson(join(folder, 'config.json'), await configuration())
  await writeJson(join(folder, 'tokenizer.json'), await tokenizer())
  await writeJson(join(folder, 'tokenizer_config.json'), await tokenizerConfiguration())
  await writeJson(join(folder, 'preprocessor_config.json'), PROCESSOR)
  const tensors = await readTensors(join(TINY_CHAT_FOLDER, 'model.safetensors'))
  const embeddings = tensors.get('model.embed_tokens.weight')?.values ?? new Float32Array()
  await writeTensors(join(folder, 'model.safetensors'), new Map([...tensors, ...eye(embeddings)]))
  return folder
}

const PROCESSOR = {
  image_processor_type: 'Qwen2VLImageProcessor',
  processor_class: 'Qwen2VLProcessor',
  patch_size: PATCH,
  temporal_patch_size: 2,
  merge_size: 2,
  min_pixels: (2 * PATCH) ** 2,
  max_pixels: 64 * (2 * PATCH) ** 2,
  image_mean: [0.5, 0.5, 0.5],
  image_std: [0.5, 0.5, 0.5],
}

async function configuration(): Promise<Record<string, unknown>> {
  return {
    ...(await readJson('config.json')),
    model_type: 'qwen2_vl',
    architectures: ['Qwen2VLForConditionalGeneration'],
    rope_scaling: { type: 'mrope', mrope_section: [0, 0, 32] },
    image_token_id: IMAGE_ID,
    video_token_id: VIDEO_ID,
    vision_start_token_id: LINE_END,
    vision_config: {
      model_type: 'qwen2_vl',
      depth: 1,
      embed_dim: EYE,
      hidden_size: HIDDEN,
      num_heads: 1,
      mlp_ratio: 2,
      patch_size: PATCH,
      spatial_patch_size: PATCH,
    },
  }
}

async function tokenizer(): Promise<Record<string, unknown>> {
  const known = (await readJson('tokenizer.json')) as {
    added_tokens: { id: number; content: string }[]
    model: { vocab: Record<string, number> }
  }
  for (const [id, content] of [
    [IMAGE_ID, IMAGE],
    [VIDEO_ID, '<|video_pad|>'],
  ] as const) {
    known.model.vocab[content] = id
    known.added_tokens.push({ ...known.added_tokens[0], id, content })
  }
  return known
}

async function tokenizerConfiguration(): Promise<Record<string, unknown>> {
  const known = await readJson('tokenizer_config.json')
  const text = `{%- if m.content is string or not m.content %}{{- m.content or '' }}{%- else %}{%- for part in m.content %}{%- if part.type == 'image' %}{{- '${IMAGE}' }}{%- else %}{{- part.text }}{%- endif %}{%- endfor %}{%- endif %}`
  const turn = `{{- '<|im_start|>' + m.role + '\\n' }}${text}{{- '<|im_end|>\\n' }}`
  const template = String(known['chat_template']).replace(/\{\{- '<\|im_start\|>' \+ m\.role.*?\}\}/, turn)
  return { ...known, chat_template: template }
}

/** Weights of the part that sees; what is between patches and tokens does nothing. */
function eye(embeddings: Float32Array): Map<string, Tensor> {
  const inner = 4 * EYE
  const block = 'visual.blocks.0'
  const embedding = (id: number): Float32Array => embeddings.subarray(id * HIDDEN, (id + 1) * HIDDEN)
  const [h, i] = [embedding(76), embedding(77)]
  const seen = GAIN * PURE
  return new Map([
    ['visual.patch_embed.proj.weight', made([EYE, 3, 2, PATCH, PATCH], channelMean)],
    ...norm(`${block}.norm1`, EYE),
    ...norm(`${block}.norm2`, EYE),
    ...linear(`${block}.attn.qkv`, 3 * EYE, EYE),
    ...linear(`${block}.attn.proj`, EYE, EYE),
    ...linear(`${block}.mlp.fc1`, 2 * EYE, EYE),
    ...linear(`${block}.mlp.fc2`, EYE, 2 * EYE),
    ...norm('visual.merger.ln_q', EYE),
    ...linear('visual.merger.mlp.0', inner, inner, (row, column) => (row === column && row < 2 ? GAIN : 0)),
    ...linear('visual.merger.mlp.2', HIDDEN, inner, (row, column) =>
      column === 0 ? (h[row] ?? 0) / seen : column === 1 ? (i[row] ?? 0) / seen : 0,
    ),
  ])
}

/** Each of the first three outputs is the mean of one colour. */
function channelMean(index: number): number {
  const area = 2 * PATCH * PATCH
  const output = Math.floor(index / (3 * area))
  return Math.floor(index / area) % 3 === output ? 1 / area : 0
}

function made(shape: number[], value: (index: number) => number): Tensor {
  const length = shape.reduce((product, size) => product * size, 1)
  return { shape, values: Float32Array.from({ length }, (_, index) => value(index)) }
}

function norm(name: string, size: number): [string, Tensor][] {
  return [
    [`${name}.weight`, made([size], () => 1)],
    [`${name}.bias`, made([size], () => 0)],
  ]
}

function linear(
  name: string,
  rows: number,
  columns: number,
  value: (row: number, column: number) => number = () => 0,
): [string, Tensor][] {
  const weight = made([rows, columns], (index) => value(Math.floor(index / columns), index % columns))
  return [
    [`${name}.weight`, weight],
    [`${name}.bias`, made([rows], () => 0)],
  ]
}

async function readJson(name: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(TINY_CHAT_FOLDER, name), 'utf8')) as Record<string, unknown>
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await writeFile(path, JSON.stringify(value))
}

async function readTensors(path: string): Promise<Map<string, Tensor>> {
  const file = await readFile(path)
  const length = Number(file.readBigUInt64LE(0))
  const header = JSON.parse(file.toString('utf8', 8, 8 + length)) as Record<
    string,
    { shape: number[]; data_offsets: [number, number] }
  >
  const tensors = Object.entries(header).filter(([name]) => name !== '__metadata__')
  return new Map(
    tensors.map(
      ([
        name,
        {
          shape,
          data_offsets: [begin, end],
        },
      ]) => {
        const bytes = new Uint8Array(file.subarray(8 + length + begin, 8 + length + end))
        return [name, { shape, values: new Float32Array(bytes.buffer) }]
      },
    ),
  )
}

async function writeTensors(path: string, tensors: ReadonlyMap<string, Tensor>): Promise<void> {
  let at = 0
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } }
  for (const [name, { shape, values }] of tensors) {
    header[name] = { dtype: 'F32', shape, data_offsets: [at, (at += values.byteLength)] }
  }
  const text = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(text.length))
  const data = [...tensors.values()].map(({ values }) => Buffer.from(values.buffer))
  await writeFile(path, Buffer.concat([length, text, ...data]))
}
