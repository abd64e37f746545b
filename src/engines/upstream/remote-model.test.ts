import { describe, expect, it } from 'vitest'
import { readModelList } from './remote-model.ts'

function read(entry: object): Record<string, boolean> & { contextLength?: number } {
  const [model] = readModelList(JSON.stringify({ data: [{ id: 'a', ...entry }] })) ?? []
  const { abilities = [], contextLength } = model ?? {}
  const found = Object.fromEntries(abilities.map(({ name, has }) => [name, has]))
  return { ...found, ...(contextLength !== undefined && { contextLength }) } as ReturnType<typeof read>
}

describe('the list of models of an endpoint', () => {
  it('gives the context of vLLM, Modelyard and Mistral', () => {
    expect(read({ max_model_len: 2048 })).toEqual({ contextLength: 2048 })
    expect(read({ context_length: 4096, max_model_len: null })).toEqual({ contextLength: 4096 })
    expect(read({ max_context_length: 32_768 })).toEqual({ contextLength: 32_768 })
    expect(read({ max_model_len: 'long' })).toEqual({})
  })

  it('gives what Modelyard says a model can, as far as an upstream can be asked for it', () => {
    const capabilities = { tasks: ['embedding', 'rerank'], tools: false, grammar: true, images: true }
    expect(read({ capabilities })).toEqual({
      chat: false,
      completion: false,
      embedding: true,
      rerank: true,
      transcription: false,
      speech: false,
      image: false,
      tools: false,
      images: true,
    })
    expect(read({ capabilities: null })).toEqual({})
  })

  it('gives what Mistral and OpenRouter say under names of their own', () => {
    expect(read({ capabilities: { completion_chat: true, function_calling: false, vision: true } })).toEqual({
      chat: true,
      tools: false,
      images: true,
    })
    expect(
      read({
        supported_parameters: ['tools', 'response_format'],
        architecture: { input_modalities: ['text'] },
      }),
    ).toEqual({
      tools: true,
      structuredOutput: true,
      logprobs: false,
      reasoning: false,
      logitBias: false,
      images: false,
      audio: false,
    })
  })

  it('is none when it is something else, and leaves out what is no model', () => {
    expect(readModelList('<html>')).toBeUndefined()
    expect(readModelList('{"object":"list"}')).toBeUndefined()
    expect(readModelList('{"data":[null,{"id":7},{"id":""},{"id":"b"}]}')?.map(({ id }) => id)).toEqual(['b'])
  })
})
