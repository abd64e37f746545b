import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OnnxGraph } from '../../src/models/onnx/onnx-graph.ts'

/** Words of the tiny models, after the marks. The last ones say nothing. */
export const MARKS: readonly string[] = ['[PAD]', '[UNK]', '[CLS]', '[SEP]']
const WORDS = ['good', 'nice', 'bad', 'awful', 'sport', 'music', 'food']
const EMPTY_WORDS = ['this', 'example', 'is', 'about', '.', 'the', 'and']
const VOCABULARY = [...MARKS, ...WORDS, ...EMPTY_WORDS]

/** Writes a folder as it lies on the hub. @param graphs one, or several by their names */
export function writeFolder(
  folder: string,
  graphs: OnnxGraph | Readonly<Record<string, OnnxGraph>>,
  files: Record<string, unknown>,
): string {
  mkdirSync(join(folder, 'onnx'), { recursive: true })
  const named = graphs instanceof OnnxGraph ? { model: graphs } : graphs
  for (const [name, graph] of Object.entries(named)) {
    writeFileSync(join(folder, `onnx/${name}.onnx`), Buffer.concat(graph.toModel()))
  }
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), JSON.stringify(content))
  }
  return folder
}

function labels(names: readonly string[]): Record<string, unknown> {
  const numbered = names.map((name, index) => [String(index), name] as const)
  return {
    id2label: Object.fromEntries(numbered),
    label2id: Object.fromEntries(numbered.map(([index, name]) => [name, Number(index)])),
  }
}

/** Words that are numbered in the order given, the marks before them. */
export function tokenizer(words: readonly string[]): Record<string, unknown> {
  const mark = (content: string, id: number): object => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  })
  const sign = (id: string, type: number): object => ({ SpecialToken: { id, type_id: type } })
  const text = (id: string, type: number): object => ({ Sequence: { id, type_id: type } })
  const special = (id: string): object => ({ id, ids: [MARKS.indexOf(id)], tokens: [id] })
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: MARKS.map(mark),
    normalizer: { type: 'Lowercase' },
    pre_tokenizer: { type: 'Whitespace' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [sign('[CLS]', 0), text('A', 0), sign('[SEP]', 0)],
      pair: [sign('[CLS]', 0), text('A', 0), sign('[SEP]', 0), text('B', 1), sign('[SEP]', 1)],
      special_tokens: { '[CLS]': special('[CLS]'), '[SEP]': special('[SEP]') },
    },
    decoder: null,
    model: {
      type: 'WordLevel',
      unk_token: '[UNK]',
      vocab: Object.fromEntries([...MARKS, ...words].map((word, id) => [word, id])),
    },
  }
}

export const TOKENIZER_SETTINGS = {
  tokenizer_class: 'BertTokenizer',
  model_max_length: 64,
  unk_token: '[UNK]',
  sep_token: '[SEP]',
  pad_token: '[PAD]',
  cls_token: '[CLS]',
}

function textFiles(names: readonly string[], more: object = {}): Record<string, unknown> {
  return {
    'config.json': {
      model_type: 'bert',
      architectures: ['BertForSequenceClassification'],
      max_position_embeddings: 64,
      ...labels(names),
      ...more,
    },
    'tokenizer.json': tokenizer([...WORDS, ...EMPTY_WORDS]),
    'tokenizer_config.json': TOKENIZER_SETTINGS,
  }
}

/** Good and nice are POSITIVE, bad and awful NEGATIVE, by a logit of 1 each, and of −1 for the other. `more` goes into its configuration. */
export function writeMoodModel(folder: string, more: object = {}): string {
  const graph = new OnnxGraph()
  const ids = graph.input('input_ids', 'int64', ['batch', 'length'])
  const moods = VOCABULARY.flatMap((word) => {
    const mood = ['good', 'nice'].includes(word) ? 2 : ['bad', 'awful'].includes(word) ? -2 : 0
    return [-mood / 2, mood / 2]
  })
  const each = graph.operator('Gather', [graph.floats(moods, [VOCABULARY.length, 2]), ids], { axis: 0 })
  graph.operator('ReduceSum', [each, graph.integers([1])], { keepdims: 0 }, 'logits')
  graph.output('logits', 'float', ['batch', 2])
  return writeFolder(folder, graph, textFiles(['NEGATIVE', 'POSITIVE'], more))
}

/** A sentence follows from a text when a word with a meaning is in both: a logit of 3 for each, and of −1 without one. */
export function writeEntailmentModel(folder: string): string {
  const graph = new OnnxGraph()
  const size = VOCABULARY.length
  const ids = graph.input('input_ids', 'int64', ['batch', 'length'])
  const types = graph.input('token_type_ids', 'int64', ['batch', 'length'])
  const meanings = VOCABULARY.flatMap((word, row) =>
    VOCABULARY.map((_, column) => (row === column && WORDS.includes(word) ? 1 : 0)),
  )
  const words = graph.operator('Gather', [graph.floats(meanings, [size, size]), ids], { axis: 0 })
  const isSecond = graph.operator('Unsqueeze', [
    graph.operator('Cast', [types], { to: 1 }),
    graph.integers([2]),
  ])
  const second = graph.operator('Mul', [words, isSecond])
  const first = graph.operator('Sub', [words, second])
  const sum = (name: string): string =>
    graph.operator('ReduceSum', [name, graph.integers([1])], { keepdims: 0 })
  const both = graph.operator('Mul', [sum(first), sum(second)])
  const shared = graph.operator('ReduceSum', [both, graph.integers([1])], { keepdims: 1 })
  const weighed = graph.operator('MatMul', [shared, graph.floats([-4, 0, 4], [1, 3])])
  graph.operator('Add', [weighed, graph.floats([1, 0, -1])], {}, 'logits')
  graph.output('logits', 'float', ['batch', 3])
  return writeFolder(folder, graph, textFiles(['contradiction', 'neutral', 'entailment']))
}

/** Pixels on each side that the tiny models see. */
export const SIDE = 32

export function seenFiles(
  architecture: string,
  modelType: string,
  names: readonly string[],
): Record<string, unknown> {
  const processor = architecture.replace(/For.*/, 'ImageProcessor')
  return {
    'config.json': { model_type: modelType, architectures: [architecture], ...labels(names) },
    'preprocessor_config.json': {
      image_processor_type: processor,
      do_resize: true,
      size: { height: SIDE, width: SIDE },
      resample: 2,
      do_rescale: true,
      rescale_factor: 1 / 255,
      do_normalize: false,
    },
  }
}

export const COLOURS: readonly string[] = ['red', 'green', 'blue']

/** Finds a colour on the left half and one on the right half, where there is enough of it. */
export function writeDetector(folder: string): string {
  const graph = new OnnxGraph()
  const pixels = graph.input('pixel_values', 'float', ['batch', 3, SIDE, SIDE])
  const half = (from: number, to: number): string => {
    const part = graph.operator('Slice', [
      pixels,
      graph.integers([from]),
      graph.integers([to]),
      graph.integers([3]),
    ])
    const means = graph.operator('ReduceMean', [part, graph.integers([2, 3])], { keepdims: 0 })
    const logits = graph.operator('Mul', [means, graph.floats([10])])
    // The last one stands for nothing at all.
    const all = graph.operator('Concat', [logits, graph.floats([5], [1, 1])], { axis: 1 })
    return graph.operator('Unsqueeze', [all, graph.integers([1])])
  }
  graph.operator('Concat', [half(0, SIDE / 2), half(SIDE / 2, SIDE)], { axis: 1 }, 'logits')
  // Middle and size; the second is said to be larger than the picture.
  const boxes = graph.floats([0.25, 0.5, 0.5, 1, 0.75, 0.5, 0.5, 1.5], [1, 2, 4])
  graph.operator('Identity', [boxes], {}, 'pred_boxes')
  graph.output('logits', 'float', ['batch', 2, 4])
  graph.output('pred_boxes', 'float', ['batch', 2, 4])
  return writeFolder(folder, graph, seenFiles('YolosForObjectDetection', 'yolos', [...COLOURS, 'nothing']))
}

/** Says which colour there is most of. */
export function writeColourModel(folder: string): string {
  const graph = new OnnxGraph()
  const pixels = graph.input('pixel_values', 'float', ['batch', 3, SIDE, SIDE])
  const means = graph.operator('ReduceMean', [pixels, graph.integers([2, 3])], { keepdims: 0 })
  graph.operator('Mul', [means, graph.floats([10])], {}, 'logits')
  graph.output('logits', 'float', ['batch', 3])
  return writeFolder(folder, graph, seenFiles('ViTForImageClassification', 'vit', COLOURS))
}
