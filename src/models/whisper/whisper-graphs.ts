import { FLOAT, OnnxGraph } from '../onnx/onnx-graph.ts'
import type { Pieces } from '../onnx/protobuf.ts'
import { HEAD, WhisperLayers } from './whisper-layers.ts'
import type { WhisperWeights } from './whisper-weights.ts'

/** Frames of half a minute, and what the encoder makes of them. */
const FRAMES = 3000
const STATES = 1500

/** The encoder as transformers.js runs it: `input_features` → `last_hidden_state`. */
export function encoderGraph(weights: WhisperWeights): Pieces {
  const graph = new OnnxGraph()
  const layers = new WhisperLayers(graph, weights)
  const bins = layers.tensor('encoder/conv1/weight').axes[1] ?? 0
  const features = graph.input('input_features', 'float', ['batch', bins, FRAMES])
  const first = convolution(layers, features, 'encoder/conv1', 1)
  const second = convolution(layers, first, 'encoder/conv2', 2)
  const turned = graph.operator('Transpose', [second], { perm: { ints: [0, 2, 1] } })
  let state = graph.operator('Add', [turned, layers.floats('encoder/position_encodings/encodings')])
  for (let layer = 0; layer < layers.layers('encoder'); layer++) {
    const name = `encoder/layer_${layer}`
    const { keys, values, queries } = selfAttention(layers, state, name)
    const mixed = layers.attention(queries, keys, values)
    state = graph.operator('Add', [state, layers.linear(mixed, `${name}/self_attention/linear_1`)])
    state = layers.feedForward(state, `${name}/ffn`)
  }
  layers.norm(state, 'encoder/layer_norm', 'last_hidden_state')
  graph.output('last_hidden_state', 'float', ['batch', STATES, layers.width])
  return graph.toModel()
}

function convolution(layers: WhisperLayers, input: string, name: string, stride: number): string {
  const inputs = [input, layers.floats(`${name}/weight`), layers.floats(`${name}/bias`)]
  const attributes = { pads: { ints: [1, 1] }, strides: { ints: [stride] } }
  return layers.graph.operator('Gelu', [layers.graph.operator('Conv', inputs, attributes)])
}

function selfAttention(
  layers: WhisperLayers,
  state: string,
  name: string,
): { queries: string; keys: string; values: string } {
  const input = layers.norm(state, `${name}/self_attention/layer_norm`)
  const [queries = '', keys = '', values = ''] = ([0, 1, 2] as const).map((part) =>
    layers.heads(layers.linear(input, `${name}/self_attention/linear_0`, layers.third(part))),
  )
  return { queries, keys, values }
}

/** The decoder with a cache: keys and values of the sound are computed with the first token only. */
export function decoderGraph(weights: WhisperWeights): Pieces {
  const graph = new OnnxGraph()
  const layers = new WhisperLayers(graph, weights)
  const count = layers.layers('decoder')
  const vocabulary = layers.tensor('decoder/embeddings/weight').axes[0] ?? 0
  graph.input('input_ids', 'int64', ['batch', 'tokens'])
  graph.input('encoder_hidden_states', 'float', ['batch', 'states', layers.width])
  declareCaches(layers, count)
  graph.input('use_cache_branch', 'bool', [1])
  const { embedded, mask, embeddings } = inputsOf(layers)
  const sound = soundCaches(layers, count)
  let state = embedded
  for (let layer = 0; layer < count; layer++) {
    const [keys = '', values = ''] = sound.slice(layer * 2)
    state = decoderLayer(layers, layer, state, mask, { keys, values })
  }
  const last = layers.norm(state, 'decoder/layer_norm')
  const turned = graph.operator('Transpose', [embeddings.bytes], { perm: { ints: [1, 0] } })
  layers.product(last, turned, embeddings.scales, 'logits')
  graph.output('logits', 'float', ['batch', 'tokens', vocabulary])
  return graph.toModel()
}

const CACHES = ['decoder.key', 'decoder.value', 'encoder.key', 'encoder.value'] as const

function declareCaches({ graph, width }: WhisperLayers, count: number): void {
  for (let layer = 0; layer < count; layer++) {
    for (const cache of CACHES) {
      const side = cache.startsWith('decoder') ? 'past' : 'sound'
      const heads = width / HEAD
      graph.input(`past_key_values.${layer}.${cache}`, 'float', ['batch', heads, side, HEAD])
      graph.output(`present.${layer}.${cache}`, 'float', ['batch', heads, `${side}_after`, HEAD])
    }
  }
}

interface DecoderInputs {
  embedded: string
  mask: string
  embeddings: { bytes: string; scales: string }
}

/** Tokens with their positions, and which of them see which. The table of tokens is kept once, in eight bits. */
function inputsOf(layers: WhisperLayers): DecoderInputs {
  const { graph } = layers
  const axis = (name: string, index: number): string =>
    graph.operator('Slice', [
      graph.operator('Shape', [name]),
      graph.integers([index]),
      graph.integers([index + 1]),
    ])
  const past = axis('past_key_values.0.decoder.key', 2)
  const end = graph.operator('Add', [past, axis('input_ids', 1)])
  const { axes } = layers.tensor('decoder/embeddings/weight')
  const table = layers.embeddings
  const bytes = graph.constant('uint8', axes, table.bytes)
  const scales = graph.floats(table.scales)
  const rows = graph.operator('Cast', [graph.operator('Gather', [bytes, 'input_ids'])], { to: FLOAT })
  const centred = graph.operator('Sub', [rows, graph.floats([128], [])])
  const ofRows = graph.operator('Unsqueeze', [
    graph.operator('Gather', [scales, 'input_ids']),
    graph.integers([-1]),
  ])
  const tokens = graph.operator('Mul', [centred, ofRows])
  const all = layers.floats('decoder/position_encodings/encodings')
  const positions = graph.operator('Slice', [all, past, end, graph.integers([0])])
  return {
    embedded: graph.operator('Add', [tokens, positions]),
    mask: maskOf(layers, past, end),
    embeddings: { bytes, scales },
  }
}

/** Nobody sees what comes after. */
function maskOf({ graph }: WhisperLayers, past: string, end: string): string {
  const single = (value: string): string => graph.operator('Squeeze', [value, graph.integers([0])])
  const step = single(graph.integers([1]))
  const range = (from: string, axis: number): string =>
    graph.operator('Unsqueeze', [graph.operator('Range', [from, single(end), step]), graph.integers([axis])])
  const rows = range(single(past), 1)
  const columns = range(single(graph.integers([0])), 0)
  const hidden = graph.operator('Greater', [columns, rows])
  return graph.operator('Where', [hidden, graph.floats([-1e9], []), graph.floats([0], [])])
}

/** Keys and values of the sound, layer after layer: taken over when there are some, else computed. */
function soundCaches(layers: WhisperLayers, count: number): string[] {
  const kept = layers.inside()
  const made = layers.inside()
  for (let layer = 0; layer < count; layer++) {
    const name = `decoder/layer_${layer}/attention/linear_1`
    for (const [index, cache] of (['encoder.key', 'encoder.value'] as const).entries()) {
      const shape = ['batch', layers.width / HEAD, 'sound', HEAD]
      const old = kept.graph.operator('Identity', [`past_key_values.${layer}.${cache}`])
      kept.graph.output(old, 'float', shape)
      const rows = layers.third(index === 0 ? 0 : 1)
      const fresh = made.heads(made.linear('encoder_hidden_states', name, rows))
      made.graph.output(fresh, 'float', shape)
    }
  }
  const names = Array.from({ length: count }, (_, layer) => [
    `present.${layer}.encoder.key`,
    `present.${layer}.encoder.value`,
  ]).flat()
  const branches = { then_branch: { graph: kept.graph }, else_branch: { graph: made.graph } }
  return layers.graph.operators('If', ['use_cache_branch'], branches, names)
}

function decoderLayer(
  layers: WhisperLayers,
  layer: number,
  input: string,
  mask: string,
  sound: { keys: string; values: string },
): string {
  const { graph } = layers
  const name = `decoder/layer_${layer}`
  const own = selfAttention(layers, input, name)
  const [keys = '', values = ''] = (['key', 'value'] as const).map((kind) => {
    const fresh = kind === 'key' ? own.keys : own.values
    const old = `past_key_values.${layer}.decoder.${kind}`
    return graph.operator('Concat', [old, fresh], { axis: 2 }, `present.${layer}.decoder.${kind}`)
  })
  const mixed = layers.attention(own.queries, keys, values, mask)
  let state = graph.operator('Add', [input, layers.linear(mixed, `${name}/self_attention/linear_1`)])
  const other = `${name}/attention`
  const queries = layers.heads(layers.linear(layers.norm(state, `${other}/layer_norm`), `${other}/linear_0`))
  const heard = layers.attention(queries, sound.keys, sound.values)
  state = graph.operator('Add', [state, layers.linear(heard, `${other}/linear_2`)])
  return layers.feedForward(state, `${name}/ffn`)
}
