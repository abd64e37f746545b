import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { SystemClock } from '../../src/base/clock.ts'
import { ServerGroup } from '../../src/engines/upstream/server-group.ts'
import { createYard, type Yard } from '../../src/yard.ts'
import { NEVER } from '../node-llama-cpp/fixtures.ts'
import { removeFolder, temporaryFolder, TINY_CHAT_FOLDER } from '../models/paths.ts'
import { vllmEnvironment, type VllmEnvironment } from './vllm-environment.ts'

/** Milliseconds that one may take to start: half a minute on a quiet machine, with two cores that others want much longer. */
const START = 900_000
const MESSAGES = [{ role: 'user' as const, content: 'hi' }]
const ANSWER = 'Hello, how are you today?'
const EXACT = { temperature: 0, maxTokens: 32 }
const TOOLS = [
  { name: 'get_weather', description: 'Get the weather of a city', parameters: { type: 'object' } },
]

let vllm: VllmEnvironment
let folder: string
let yard: Yard | undefined
beforeAll(async () => {
  vllm = await vllmEnvironment()
  folder = await temporaryFolder()
}, 1_300_000)
afterAll(async () => removeFolder(folder))
afterEach(async () => {
  await yard?.stop({ deadline: 0 })
  yard = undefined
  const left = processesOf(folder)
  if (left.length > 0) throw new Error(`vLLM left processes behind: ${left.join('; ')}`)
})

function pythonOf(skip: (why: string) => never): string {
  return 'missing' in vllm
    ? skip(
        `vLLM cannot be installed here, and MODELYARD_VLLM_PYTHON names no Python that has it: ${vllm.missing} (docs/decisions/2026-12-01-real-vllm.md has the commands)`,
      )
    : vllm.python
}

/** A real vLLM on this machine's CPU, of one process or several that share the model. */
async function open(skip: (why: string) => never, count: number): Promise<Yard> {
  const python = pythonOf(skip)
  const parallel = count === 1 ? [] : GROUP
  yard = await createYard({
    home: join(folder, `home${count}`),
    models: {
      tiny: {
        engine: 'upstream',
        slots: 8,
        start: {
          command: [python, ...SERVER, `--download-dir=${folder}`, ...parallel],
          followerArguments: ['--headless'],
          count,
          memory: '4GiB',
          environment: ENVIRONMENT,
        },
      },
    },
    memory: { budget: '16GiB', absolute: '16GiB', headroom: 0 },
  })
  return yard
}

const SERVER = [
  join(import.meta.dirname, 'serve.py'),
  'serve',
  TINY_CHAT_FOLDER,
  '--served-model-name=tiny',
  '--max-model-len=2048',
  '--enforce-eager',
  '--dtype=float32',
  '--host=127.0.0.1',
  '--port={port}',
]
const GROUP = [
  '--nnodes={count}',
  '--node-rank={rank}',
  '--master-addr=127.0.0.1',
  '--master-port={master}',
  '--tensor-parallel-size={count}',
  '--distributed-executor-backend=mp',
]
const ENVIRONMENT = {
  VLLM_API_KEY: '{key}',
  VLLM_CPU_KVCACHE_SPACE: '1',
  VLLM_HOST_IP: '127.0.0.1',
  VLLM_NO_USAGE_STATS: '1',
  HF_HUB_OFFLINE: '1',
  // What it would compile at its first request takes minutes on a busy machine, and a tiny model gains nothing.
  TORCHDYNAMO_DISABLE: '1',
}

/** Processes with these words on their command line, and those that vLLM calls by names of its own. */
function processesOf(words: string): string[] {
  const lines = execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' }).split('\n')
  // Who has ended and whose end nobody has asked for is no process any more: that is for init, which not every container has.
  const living = lines.filter((line) => !line.endsWith('<defunct>'))
  return living.filter((line) => line.includes(words) || line.includes('VLLM::'))
}

it('answers, is counted, and refuses what is too long', { timeout: START }, async ({ skip }) => {
  const running = await open(skip, 1)
  const { text, result } = await running.chat({ model: 'tiny', messages: MESSAGES, ...EXACT }).answer()
  expect(text).toBe(ANSWER)
  expect(result.usage.promptTokens).toBeGreaterThan(5)
  const long = [{ role: 'user' as const, content: 'long '.repeat(4000) }]
  await expect(running.chat({ model: 'tiny', messages: long }).answer()).rejects.toMatchObject({
    code: 'context_length_exceeded',
  })
  // It was not started for tools: that is learned from its refusal.
  await expect(
    running.chat({ model: 'tiny', messages: MESSAGES, tools: TOOLS }).answer(),
  ).rejects.toMatchObject({
    code: 'unsupported',
  })
  await expect(running.embed({ model: 'tiny', input: ['one'] })).rejects.toMatchObject({
    code: 'unsupported',
  })
})

it(
  'is one endpoint for an entry of all its models, whose tokens it counts',
  { timeout: START },
  async ({ skip }) => {
    const command = [pythonOf(skip), ...SERVER, `--download-dir=${folder}`]
    const start = { command, memory: [], environment: ENVIRONMENT }
    const clock = new SystemClock()
    const server = await ServerGroup.start({ model: 'vllm', start, clock, signal: NEVER })
    try {
      const { url, key = '' } = server
      yard = await createYard({ home: false, models: { 'lab/*': { engine: 'upstream', url, key } } })
      const task = { kind: 'chat' as const, messages: MESSAGES, sampling: {}, stop: [] }
      const first = yard
      // It works out its routes when it is first asked for them, and answers nobody meanwhile: on a busy machine for longer than a load waits.
      const { result } = await vi.waitFor(
        async () => await first.chat({ model: 'lab/tiny', messages: MESSAGES, ...EXACT }).answer(),
        { timeout: 120_000, interval: 2000 },
      )
      expect(await yard.countTokens('lab/tiny', task)).toBe(result.usage.promptTokens)
      const { contextLength, endpoint } = await yard.control.describeModel('lab/tiny')
      expect([contextLength, endpoint?.counting]).toEqual([2048, 'tokenize-messages'])
    } finally {
      await server.stop()
    }
  },
)

it('in two processes is one worker with one fate', { timeout: 2 * START }, async ({ skip }) => {
  const running = await open(skip, 2)
  const { text } = await running.chat({ model: 'tiny', messages: MESSAGES, ...EXACT }).answer()
  expect(text).toBe(ANSWER)
  const second = processesOf('--node-rank=1').map((line) => Number.parseInt(line, 10))[0]
  process.kill(second ?? 0, 'SIGKILL')
  await vi.waitFor(() => expect(processesOf(folder)).toEqual([]), 30_000)
})
