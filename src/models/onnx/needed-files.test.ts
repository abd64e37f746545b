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
    ['embedding', [], BERT, []],
    ['embedding', [], BERT.slice(0, 1), ['tokenizer.json', 'tokenizer_config.json']],
    [
      'classification',
      ['ViTForImageClassification'],
      ['config.json', 'model.onnx'],
      ['preprocessor_config.json'],
    ],
    ['transcription', [], WHISPER, []],
    ['transcription', [], WHISPER.slice(0, 6), ['onnx/decoder_model.onnx']],
    ['speech', [], ['voice.onnx'], ['tokens.txt']],
    ['speech', [], ['voice.onnx', 'tokens.txt'], []],
  ] as const)('for %s %j of %j: %j', (purpose, architectures, names, missing) => {
    expect(missingFiles(purpose, architectures, names)).toEqual(missing)
  })
})
