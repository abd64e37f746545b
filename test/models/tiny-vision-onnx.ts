import { OnnxGraph } from '../../src/models/onnx/onnx-graph.ts'
import { COLOURS, MARKS, seenFiles, SIDE, TOKENIZER_SETTINGS, tokenizer, writeFolder } from './tiny-onnx.ts'

const PIXELS = ['batch', 3, SIDE, SIDE] as const

/** How much there is of red, green and blue: 0…1 each. */
function colours(graph: OnnxGraph, pixels: string): string {
  return graph.operator('ReduceMean', [pixels, graph.integers([2, 3])], { keepdims: 0 })
}

/** What an image processor is told; the rest of `seenFiles` is of models with labels. */
function processorOf(architecture: string): unknown {
  return seenFiles(architecture, '', [])['preprocessor_config.json']
}

const CAPTION_WORDS = ['a', ...COLOURS, 'picture', 'and']
const CAPTION_TOKENS = [...MARKS, ...CAPTION_WORDS]
/** Tokens that it can write, the beginning included. */
export const CAPTION_CONTEXT = 500_000

/**
 * Writes `a red picture` about red images, and the same of green and blue ones; of what is white it writes `a and and and …` and never ends.
 * `settings` are those of its generation.
 */
export function writeCaptioner(folder: string, settings: object = {}): string {
  return writeFolder(
    folder,
    { encoder_model: captionEncoder(), decoder_model_merged: captionDecoder() },
    {
      'config.json': {
        model_type: 'vision-encoder-decoder',
        architectures: ['VisionEncoderDecoderModel'],
        is_encoder_decoder: true,
        encoder: { model_type: 'vit' },
        decoder: {
          model_type: 'gpt2',
          n_positions: CAPTION_CONTEXT,
          n_layer: 1,
          n_head: 1,
          n_embd: 3,
          eos_token_id: CAPTION_TOKENS.indexOf('[SEP]'),
        },
        decoder_start_token_id: CAPTION_TOKENS.indexOf('[CLS]'),
      },
      'generation_config.json': { decoder_start_token_id: CAPTION_TOKENS.indexOf('[CLS]'), ...settings },
      'preprocessor_config.json': processorOf('ViTForImageClassification'),
      'tokenizer.json': tokenizer(CAPTION_WORDS),
      'tokenizer_config.json': TOKENIZER_SETTINGS,
    },
  )
}

/** One state for the whole image: its colours. */
function captionEncoder(): OnnxGraph {
  const graph = new OnnxGraph()
  const means = colours(graph, graph.input('pixel_values', 'float', PIXELS))
  graph.operator('Unsqueeze', [means, graph.integers([1])], {}, 'last_hidden_state')
  graph.output('last_hidden_state', 'float', ['batch', 1, 3])
  return graph
}

/** What follows depends on the token before it; after `a` on the image. */
function captionDecoder(): OnnxGraph {
  const graph = new OnnxGraph()
  const ids = graph.input('input_ids', 'int64', ['batch', 'length'])
  const image = graph.input('encoder_hidden_states', 'float', ['batch', 1, 3])
  const size = CAPTION_TOKENS.length
  const after = graph.floats(CAPTION_TOKENS.flatMap(followers), [size, size])
  const seen = graph.operator('MatMul', [image, graph.floats(COLOURS.flatMap(effects), [3, size])])
  graph.operator('Add', [graph.operator('Gather', [after, ids], { axis: 0 }), seen], {}, 'logits')
  graph.output('logits', 'float', ['batch', 'length', size])
  return graph
}

/** Logits of all tokens after one. */
function followers(token: string): number[] {
  const next: Record<string, string> = { '[CLS]': 'a', picture: '[SEP]', and: 'and' }
  const wanted = next[token] ?? 'picture'
  return CAPTION_TOKENS.map((other) => {
    if (token !== 'a') return other === wanted ? 100 : 0
    if (other === 'and') return 5
    return COLOURS.includes(other) ? 20 : 0
  })
}

/** What a colour of the image adds to the logits: together they make `and` likelier than any colour. */
function effects(colour: string): number[] {
  return CAPTION_TOKENS.map((token) => (token === colour || token === 'and' ? 10 : 0))
}

const SPACE_WORDS = [...COLOURS, 'photo', 'of', 'this', 'is', '.']
/** Tokens of a text, marks included. */
const SPACE_CONTEXT = 16

/** Texts and images in one space whose axes are the colours, and a little of something else. */
export function writeSharedSpace(folder: string, modelType: 'clip' | 'siglip' = 'clip'): string {
  const isClip = modelType === 'clip'
  const outputs = isClip ? ['text_embeds', 'image_embeds'] : ['pooler_output', 'pooler_output']
  const [text = '', image = ''] = outputs
  return writeFolder(
    folder,
    { text_model: textSide(text), vision_model: imageSide(image) },
    {
      'config.json': {
        model_type: modelType,
        architectures: [isClip ? 'CLIPModel' : 'SiglipModel'],
        text_config: { max_position_embeddings: SPACE_CONTEXT },
        vision_config: {},
      },
      'preprocessor_config.json': processorOf(isClip ? 'CLIPForOne' : 'SiglipForOne'),
      'tokenizer.json': tokenizer(SPACE_WORDS),
      'tokenizer_config.json': TOKENIZER_SETTINGS,
    },
  )
}

function textSide(output: string): OnnxGraph {
  const graph = new OnnxGraph()
  const ids = graph.input('input_ids', 'int64', ['batch', 'length'])
  const meanings = [...MARKS, ...SPACE_WORDS].flatMap((word) => [
    ...COLOURS.map((colour) => (word === colour ? 1 : 0)),
    // Places that are filled up count, too, so that a text's length can be told.
    word === '[PAD]' ? 1 : 0.01,
  ])
  const table = graph.floats(meanings, [MARKS.length + SPACE_WORDS.length, 4])
  const each = graph.operator('Gather', [table, ids], { axis: 0 })
  graph.operator('ReduceSum', [each, graph.integers([1])], { keepdims: 0 }, output)
  graph.output(output, 'float', ['batch', 4])
  return graph
}

function imageSide(output: string): OnnxGraph {
  const graph = new OnnxGraph()
  const means = colours(graph, graph.input('pixel_values', 'float', PIXELS))
  graph.operator('Concat', [means, graph.floats([0.01], [1, 1])], { axis: 1 }, output)
  graph.output(output, 'float', ['batch', 4])
  return graph
}

/** States of a whole image, of its left half and of its right half: the colours there. */
export function writeImageEncoder(folder: string): string {
  const graph = new OnnxGraph()
  const pixels = graph.input('pixel_values', 'float', PIXELS)
  const part = (from: number, to: number): string => {
    const [first, end, axis] = [from, to, 3].map((value) => graph.integers([value]))
    const cut = graph.operator('Slice', [pixels, first ?? '', end ?? '', axis ?? ''])
    return graph.operator('Unsqueeze', [colours(graph, cut), graph.integers([1])])
  }
  const states = [part(0, SIDE), part(0, SIDE / 2), part(SIDE / 2, SIDE)]
  graph.operator('Concat', states, { axis: 1 }, 'last_hidden_state')
  graph.output('last_hidden_state', 'float', ['batch', 3, 3])
  return writeFolder(folder, graph, {
    'config.json': { model_type: 'dinov2', architectures: ['Dinov2Model'] },
    'preprocessor_config.json': processorOf('BitForOne'),
  })
}
