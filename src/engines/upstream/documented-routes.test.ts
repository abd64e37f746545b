import { describe, expect, it } from 'vitest'
import { readDocumentedRoutes, readServerProperties } from './documented-routes.ts'

describe('what a server says of itself', () => {
  it('a route that its document does not name is not there; /tokenize counts tokens', () => {
    const paths = { '/v1/chat/completions': {}, '/v1/completions': {}, '/tokenize': {} }
    const facts = readDocumentedRoutes(JSON.stringify({ openapi: '3.1.0', paths }), '/v1')
    expect(facts?.abilities.map(({ name, has }) => [name, has])).toEqual([
      ['chat', true],
      ['completion', true],
      ['embedding', false],
      ['rerank', false],
      ['transcription', false],
      ['speech', false],
      ['image', false],
    ])
    expect(facts?.counting).toBe('tokenize-messages')
  })

  it('a server may have none but the routes of sound', () => {
    const paths = { '/v1/audio/transcriptions': {}, '/v1/models': {} }
    const has = readDocumentedRoutes(JSON.stringify({ paths }), '/v1')?.abilities.filter((each) => each.has)
    expect(has?.map(({ name }) => name)).toEqual(['transcription'])
  })

  it('a document about something else, or no document, says nothing', () => {
    expect(readDocumentedRoutes('{"paths":{"/users":{}}}', '/v1')).toBeUndefined()
    expect(readDocumentedRoutes('{"paths":[]}', '/v1')).toBeUndefined()
    expect(readDocumentedRoutes('not found', '/v1')).toBeUndefined()
  })

  it('llama.cpp tells of its template, of images and of its context', () => {
    const properties = {
      chat_template_caps: { supports_tools: false },
      modalities: { vision: true },
      default_generation_settings: { n_ctx: 4096 },
    }
    const facts = readServerProperties(JSON.stringify(properties))
    expect(facts?.abilities.map(({ name, has }) => [name, has])).toEqual([
      ['tools', false],
      ['images', true],
    ])
    expect([facts?.contextLength, facts?.counting]).toEqual([4096, 'apply-template'])
    expect(readServerProperties('null')).toBeUndefined()
  })
})
