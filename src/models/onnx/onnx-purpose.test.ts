import { describe, expect, it } from 'vitest'
import { factsOfConfiguration } from './onnx-purpose.ts'

describe('what an ONNX folder is for', () => {
  it.each([
    [['BertModel'], 'bert', 'embedding'],
    [['WhisperForConditionalGeneration'], 'whisper', 'transcription'],
    [['Wav2Vec2ForCTC'], 'wav2vec2', 'transcription'],
    [['DistilBertForSequenceClassification'], 'distilbert', 'classification'],
    [['ViTForImageClassification'], 'vit', 'classification'],
    [['DetrForObjectDetection'], 'detr', 'detection'],
    [['VisionEncoderDecoderModel'], 'vision-encoder-decoder', 'captioning'],
    [[], 'whisper', 'transcription'],
    [[], 'no-such-type', 'embedding'],
  ])('%j of %s is for %s', (architectures, model_type, purpose) => {
    expect(factsOfConfiguration({ architectures, model_type }, []).purpose).toBe(purpose)
  })

  it('without a configuration it is a voice, of Piper’s or of Kokoro’s kind', () => {
    expect(factsOfConfiguration(undefined, ['voice.onnx', 'tokens.txt'])).toMatchObject({
      purpose: 'speech',
      modelType: 'vits',
    })
    expect(factsOfConfiguration(undefined, ['model.onnx', 'tokens.txt', 'voices.bin'])).toMatchObject({
      purpose: 'speech',
      modelType: 'kokoro',
    })
  })

  it('reads labels by their number, and takes nothing for what it is not', () => {
    const id2label = { 1: 'POSITIVE', 0: 'NEGATIVE', x: 'no', 3: 7 }
    expect(factsOfConfiguration({ id2label }, []).labels).toEqual(['NEGATIVE', 'POSITIVE'])
    const strange = { architectures: 'BertModel', max_position_embeddings: -1, id2label: null }
    expect(factsOfConfiguration(strange, [])).toEqual({
      purpose: 'embedding',
      architectures: [],
      labels: [],
    })
    expect(factsOfConfiguration({ max_position_embeddings: 512 }, []).contextLength).toBe(512)
  })

  it.each([
    [{ text_config: { max_position_embeddings: 77 } }, 77],
    [{ decoder: { n_positions: 1024 } }, 1024],
    [{ decoder: { max_position_embeddings: 512 } }, 512],
    [{ max_position_embeddings: 0, decoder: { n_positions: 'many' } }, undefined],
    [{ decoder: null, text_config: [77] }, undefined],
  ])('knows how long texts may be, of the part that reads or writes them: %j', (configuration, length) => {
    expect(factsOfConfiguration(configuration, []).contextLength).toBe(length)
  })
})
