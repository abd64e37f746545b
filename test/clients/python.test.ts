import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTalkingYard, type TalkingYard } from '../conformance/talking-yard.ts'
import { pythonEnvironment, runPython, type PythonEnvironment } from './python-environment.ts'

const KEY = 'sk-local-test'

const HELLO = 'Hello there, friend.'
const CITIES = [{ city: 'Paris' }, { city: 'Rome' }]

const OPENAI = {
  models: ['plain', 'talker', 'vectors'],
  chat: HELLO,
  usage: true,
  stream: HELLO,
  'stream usage': true,
  tools: CITIES,
  'tool results': 'It is mild in both.',
  'streamed tools': CITIES,
  structured: { name: 'Ada', age: 36 },
  response: HELLO,
  'response stream': HELLO,
  embeddings: [64, 64],
  'BR-32': true,
  completion: HELLO,
  'no such model': ['NotFoundError', 404, 'model_not_found'],
  'too long': ['BadRequestError', 400, 'context_length_exceeded'],
  queue: ['RateLimitError', 429, 'rate_limit_exceeded'],
  'broken stream': 'The engine gave up.',
}
const ANTHROPIC = {
  message: HELLO,
  usage: true,
  stream: HELLO,
  tools: CITIES,
  'tool results': 'It is mild in both.',
  'streamed tools': CITIES,
  'no such model': ['NotFoundError', 404],
  queue: ['RateLimitError', 429],
  'broken stream': true,
}
const OLLAMA = {
  models: ['plain:latest', 'talker:latest', 'vectors:latest'],
  chat: HELLO,
  usage: true,
  stream: HELLO,
  tools: CITIES,
  structured: { name: 'Ada', age: 36 },
  generate: HELLO,
  embeddings: [64, 64],
  show: true,
  'no such model': [404, true],
  'broken stream': true,
}
const PROGRAMS = { openai: OPENAI, anthropic: ANTHROPIC, ollama: OLLAMA }

/** The newest, and one that people still have. */
const VERSIONS = [
  ['openai==3.57.0', 'anthropic==2.14.0', 'ollama==0.6.3'],
  ['openai==1.66.3', 'anthropic==0.40.0', 'ollama==0.4.0'],
]

/** The first one makes the environments, within the 150 s that each command of that may take. */
const TEST_LIMIT = 400_000

const begun = new Map<string, Promise<PythonEnvironment>>()

/** All are made when the first is asked for, side by side. */
async function environmentOf(requirements: string[]): Promise<PythonEnvironment> {
  for (const version of VERSIONS.filter((each) => !begun.has(each.join()))) {
    begun.set(version.join(), pythonEnvironment(version))
  }
  return await (begun.get(requirements.join()) ?? pythonEnvironment(requirements))
}

describe.each(VERSIONS)('the official Python SDKs %s, %s, %s', (...requirements) => {
  let talking: TalkingYard
  beforeAll(async () => {
    talking = await startTalkingYard(KEY)
  })
  afterAll(() => talking.yard.stop())

  it.for(Object.entries(PROGRAMS))('%s', { timeout: TEST_LIMIT }, async ([vendor, expected], { skip }) => {
    const environment = await environmentOf(requirements)
    if ('missing' in environment) return skip(`no Python environment: ${environment.missing}`)
    const told = await runPython(environment, `${vendor}_sdk.py`, [talking.server.url, KEY])
    return expect(told).toEqual(expected)
  })
})
