import type { Weights } from './ctranslate2-file.ts'

/** Fields of CTranslate2's own `config.json` that are looked at. */
export interface CTranslate2Configuration {
  suppress_ids: number[]
  alignment_heads: [number, number][]
  lang_ids: number[]
}

/** The part of a `tokenizer.json` that is looked at. */
export interface AddedTokens {
  added_tokens: { id: number; content: string }[]
}

/** Multilingual models have one token more than English ones. */
const MULTILINGUAL = 51_865

/** The configuration files that transformers.js wants beside Whisper's graphs, by name. */
export function whisperConfiguration(
  weights: ReadonlyMap<string, Weights>,
  source: CTranslate2Configuration,
  tokenizer: AddedTokens,
): Record<string, unknown> {
  const [vocabulary = 0, width = 0] = weights.get('decoder/embeddings/weight')?.axes ?? []
  const bins = weights.get('encoder/conv1/weight')?.axes[1] ?? 0
  const isMultilingual = vocabulary >= MULTILINGUAL
  const end = isMultilingual ? 50_257 : 50_256
  const base = {
    bos_token_id: end,
    eos_token_id: end,
    pad_token_id: end,
    decoder_start_token_id: end + 1,
    begin_suppress_tokens: [220, end],
    suppress_tokens: source.suppress_ids.filter((token) => token >= 0),
    max_length: 448,
  }
  return {
    'config.json': { ...base, ...sizes(weights, vocabulary, width, bins) },
    'generation_config.json': {
      ...base,
      is_multilingual: isMultilingual,
      no_timestamps_token_id: isMultilingual ? 50_363 : 50_362,
      prev_sot_token_id: isMultilingual ? 50_361 : 50_360,
      return_timestamps: false,
      max_initial_timestamp_index: 50,
      alignment_heads: source.alignment_heads,
      ...(isMultilingual && languages(source, tokenizer)),
    },
    'preprocessor_config.json': {
      feature_extractor_type: 'WhisperFeatureExtractor',
      processor_class: 'WhisperProcessor',
      feature_size: bins,
      hop_length: 160,
      n_fft: 400,
      chunk_length: 30,
      n_samples: 480_000,
      nb_max_frames: 3000,
      sampling_rate: 16_000,
      padding_value: 0,
      padding_side: 'right',
      return_attention_mask: false,
    },
    'tokenizer_config.json': {
      tokenizer_class: 'WhisperTokenizer',
      model_max_length: 1024,
      bos_token: '<|endoftext|>',
      eos_token: '<|endoftext|>',
      unk_token: '<|endoftext|>',
      pad_token: '<|endoftext|>',
    },
  }
}

function sizes(
  weights: ReadonlyMap<string, Weights>,
  vocabulary: number,
  width: number,
  bins: number,
): Record<string, unknown> {
  const layers = (side: string): number =>
    [...weights.keys()].filter(
      (name) => name.startsWith(`${side}/`) && name.endsWith('/ffn/layer_norm/gamma'),
    ).length
  return {
    model_type: 'whisper',
    architectures: ['WhisperForConditionalGeneration'],
    vocab_size: vocabulary,
    num_mel_bins: bins,
    encoder_layers: layers('encoder'),
    decoder_layers: layers('decoder'),
    num_hidden_layers: layers('encoder'),
    encoder_attention_heads: width / 64,
    decoder_attention_heads: width / 64,
    encoder_ffn_dim: 4 * width,
    decoder_ffn_dim: 4 * width,
    d_model: width,
    max_source_positions: 1500,
    max_target_positions: 448,
    is_encoder_decoder: true,
    use_cache: true,
  }
}

function languages(
  { lang_ids: ids }: CTranslate2Configuration,
  { added_tokens: added }: AddedTokens,
): object {
  const known = new Set(ids)
  const tokens = new Map(added.map(({ content, id }) => [content, id]))
  return {
    lang_to_id: Object.fromEntries([...tokens].filter(([, id]) => known.has(id))),
    task_to_id: {
      transcribe: tokens.get('<|transcribe|>'),
      translate: tokens.get('<|translate|>'),
    },
  }
}
