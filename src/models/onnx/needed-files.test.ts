import { describe, expect, it } from 'vitest'
import { missingFiles } from './needed-files.ts'

const BERT = ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'onnx/model.onnx']
const WHISPER = [
  ...BERT.slice(0, 3),
  'generation_config.json',
  'preprocessor_config.json',
  'onnx/encoder_model_quantized.onnx',
  'onnx/decoder_model_merged_quantized.onnx',
]

describe('files that a folder’s model lacks', () => {
  it.each([
    ['embedding', 'bert', [], BERT, []],
    ['embedding', 'bert', [], BERT.slice(0, 1), ['tokenizer.json', 'tokenizer_config.json']],
    ['embedding', 'dinov2', [], ['config.json', 'onnx/model.onnx'], ['preprocessor_config.json']],
    [
      'embedding',
      'clip',
      ['CLIPModel'],
      [...BERT, 'onnx/vision_model.onnx'],
      ['preprocessor_config.json', 'onnx/text_model.onnx'],
    ],
    [
      'classification',
      'vit',
      ['ViTForImageClassification'],
      ['config.json', 'model.onnx'],
      ['preprocessor_config.json'],
    ],
    ['transcription', 'whisper', [], WHISPER, []],
    ['transcription', 'whisper', [], WHISPER.slice(0, 6), ['onnx/decoder_model_merged.onnx']],
    [
      'captioning',
      'vision-encoder-decoder',
      [],
      [...WHISPER.slice(1, 3), ...WHISPER.slice(4, 6), 'onnx/decoder_model.onnx'],
      ['onnx/decoder_model_merged.onnx'],
    ],
    ['detection', 'detr', [], ['onnx/model.onnx'], ['preprocessor_config.json']],
    ['speech', 'vits', [], ['voice.onnx'], ['tokens.txt']],
    ['speech', 'vits', [], ['voice.onnx', 'tokens.txt'], []],
  ] as const)('for %s with %s %j of %j: %j', (purpose, modelType, architectures, names, missing) => {
    expect(missingFiles({ purpose, modelType, architectures }, names)).toEqual(missing)
  })
})
