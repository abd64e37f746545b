import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseSource } from './source.ts'

describe('parseSource (S1)', () => {
  it.each([
    ['/models/a b.gguf', '/models/a b.gguf'],
    ['a.gguf', '/base/a.gguf'],
    ['A.GGUF', '/base/A.GGUF'],
    ['./smollm2', '/base/smollm2'],
    ['models/モデル é\'"$(x)/m.gguf', '/base/models/モデル é\'"$(x)/m.gguf'],
    ['../up/m.gguf', '/up/m.gguf'],
    ['~/m.gguf', join(homedir(), 'm.gguf')],
    ['~', homedir()],
  ])('%s is a path (BR-24)', (text, path) => {
    expect(parseSource(text, '/base')).toEqual({ kind: 'file', path })
  })

  it.each([
    ['hf:org/repo', {}],
    ['hf:org/repo:Q4_K_M', { quantization: 'Q4_K_M' }],
    ['hf:org/repo:safetensors', { format: 'safetensors' }],
    ['hf:org/repo:SAFETENSORS@v1', { format: 'safetensors', revision: 'v1' }],
    ['hf:org/repo/m.gguf', { file: 'm.gguf' }],
    ['hf:org/repo/sub folder/m.gguf', { file: 'sub folder/m.gguf' }],
    ['hf:org/repo@v1.0', { revision: 'v1.0' }],
    ['hf:org/repo:q8_0@refs/pr/1', { quantization: 'q8_0', revision: 'refs/pr/1' }],
    ['hf:org/repo/m.gguf@main', { file: 'm.gguf' }],
  ])('%s is on the hub', (text, parts) => {
    expect(parseSource(text)).toEqual({ kind: 'hub', repository: 'org/repo', revision: 'main', ...parts })
  })

  it.each([
    ['pip:some-model/data/m.gguf', { package: 'some-model', member: 'data/m.gguf' }],
    ['pip:x==0.1.2/m.gguf', { package: 'x', version: '0.1.2', member: 'm.gguf' }],
  ])('%s is in a wheel', (text, parts) => {
    expect(parseSource(text)).toEqual({ kind: 'wheel', ...parts })
  })

  it.each(['https://host.example/a/m.gguf', 'http://localhost:8080/m.gguf', 'http://127.0.0.1/m.gguf'])(
    '%s is an address',
    (text) => {
      expect(parseSource(text)).toEqual({ kind: 'url', url: text })
    },
  )

  it.each(['smollm2', 'nomic-embed-text', 'qwen2.5'])('%s is a name of the catalog', (name) => {
    expect(parseSource(name)).toEqual({ kind: 'catalog', name })
  })

  it.each([
    ['', 'A source is a path, hf:'],
    ['hf:repo', 'Expected hf:org/repo'],
    ['hf:org/repo:Q4/m.gguf', 'not both'],
    ['hf:org/repo/../../etc/passwd', 'Expected hf:org/repo'],
    ['hf:org/repo/a\\..\\b', 'Expected hf:org/repo'],
    ['hf:org/repo@', 'Expected hf:org/repo'],
    ['hf:org/repo@../x', 'Expected hf:org/repo'],
    ['hf:../x', 'Expected hf:org/repo'],
    ['pip:name', 'Expected pip:package'],
    ['pip:name/../m.gguf', 'Expected pip:package'],
    ['pip:--index-url/m.gguf', 'Expected pip:package'],
    ['http://host.example/m.gguf', 'Write https://'],
    ['https://host.example/', 'must end with the name of a file'],
    ['https://host.example/..%2Fm.gguf', 'must end with the name of a file'],
    ['https://[', 'It is not an address'],
    ['ftp://host.example/m.gguf', '"ftp:" is not known'],
  ])('%s is refused with what was expected', (text, expected) => {
    expect(() => parseSource(text)).toThrow(expected)
  })

  it('keeps a password out of the error', () => {
    expect(() => parseSource('https://user:secret@host.example/m.gguf')).toThrow(/^(?!.*secret).*password/)
  })
})
