import { describe, expect, it } from 'vitest'
import { purposeOfSafetensors } from './safetensors-purpose.ts'

describe('purposeOfSafetensors', () => {
  it.each([
    ['Qwen2ForCausalLM', 'generation'],
    ['InternVLChatModel', 'generation'],
    ['LlavaForConditionalGeneration', 'generation'],
    ['BertModel', 'embedding'],
    ['XLMRobertaModel', 'embedding'],
    ['BertForMaskedLM', 'embedding'],
    ['BertForSequenceClassification', 'classification'],
    ['WhisperForConditionalGeneration', 'transcription'],
    ['DetrForObjectDetection', 'detection'],
  ])('%s is for %s', (architecture, purpose) => {
    expect(purposeOfSafetensors({ architectures: [architecture] })).toBe(purpose)
  })

  it('is generation where nothing is said', () => {
    expect(purposeOfSafetensors({})).toBe('generation')
    expect(purposeOfSafetensors({ architectures: [] })).toBe('generation')
  })
})
