import { spawnSync } from 'node:child_process'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SCRIPTED_MODELS } from './scripted-models.ts'
import { TestHome } from './program.ts'

interface Simulated {
  simulations: {
    name: string
    served: number
    loads: number
    overBudget: number
    prompts: { computed: number }
  }[]
}

const EIGHT_AGENTS = join(import.meta.dirname, '../../src/pool/simulation/__fixtures__/eight-agents.jsonl')

let home: TestHome
beforeEach(async () => {
  home = await TestHome.create()
})
afterEach(async () => await home.remove())

/** Two clients that take turns with two models, each of which is in memory alone unless there is more. */
async function writeTrace(): Promise<void> {
  const models = ['a', 'b'].map((id) => ({ model: { id, bytes: '6 GiB', loadTime: 3000 } }))
  const requests = Array.from({ length: 40 }, (_, index) => {
    const conversation = index % 2 === 0 ? 'a' : 'b'
    return { at: 0, model: conversation, hold: 500, conversation, turn: index >> 1, think: 100 }
  })
  const header = { modelyardTrace: 1, memory: { ram: '8 GiB' } }
  const lines = [header, ...models, ...requests].map((line) => JSON.stringify(line))
  await writeFile(join(home.path, 'day.jsonl'), lines.join('\n'))
}

describe('modelyard serve --record-trace', () => {
  it('records what simulate plays, without a word of what was asked', async () => {
    await home.configure({ models: SCRIPTED_MODELS })
    const server = await home.serve(['--record-trace', 'day.jsonl'])
    for (const content of ['a secret question', 'another secret']) {
      const messages = [
        { role: 'system', content: 'You keep every secret. '.repeat(20) },
        { role: 'user', content },
      ]
      const body = JSON.stringify({ model: 'fake', messages })
      const headers = { 'content-type': 'application/json', 'modelyard-priority': 'background' }
      const answer = await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', headers, body })
      expect(answer.status).toBe(200)
      await answer.text()
    }
    server.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
    const trace = await readFile(join(home.path, 'day.jsonl'), 'utf8')
    expect(trace).not.toContain('secret')
    expect(trace).toMatch(
      /"model":"fake","hold":\d+,"priority":"background","conversation":"c2","turn":0,"beginning":\{"of":"c1","tokens":\d+\}/,
    )
    const { code, out } = await home.run(['simulate', 'day.jsonl', '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ simulations: [{ served: 2, loads: 1, overBudget: 0 }] })
  })

  it('refuses a file that cannot be written before it serves anybody', async () => {
    await home.configure({ models: SCRIPTED_MODELS })
    const { code, err } = await home.run(['serve', '--port', '0', '--record-trace', 'no-folder/day.jsonl'])
    expect([code, err]).toEqual([2, expect.stringContaining('Name a file in a folder that exists')])
  })
})

describe('modelyard simulate', () => {
  it('plays a trace, and the same under another configuration and other policies side by side', async () => {
    await writeTrace()
    await writeFile(join(home.path, 'more.yaml'), 'memory: { budget: 100% }\n')
    const words = ['simulate', 'day.jsonl', '--compare', 'more.yaml', '--policy', 'arrival-order', '--json']
    const { code, out, err } = await home.run(words)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const { simulations } = JSON.parse(out) as Simulated
    expect(simulations.map(({ name }) => name)).toEqual(['as recorded', 'more.yaml', 'arrival-order'])
    expect(simulations.map(({ served }) => served)).toEqual([40, 40, 40])
    expect(simulations.map(({ overBudget }) => overBudget)).toEqual([0, 0, 0])
    expect(simulations.map(({ loads }) => loads)).toEqual([expect.any(Number), 2, 40])
    expect(simulations[0]?.loads).toBeLessThanOrEqual(10)
  })

  it('shows what affinity and parking spare of agents with one beginning, side by side', async () => {
    await copyFile(EIGHT_AGENTS, join(home.path, 'agents.jsonl'))
    const { code, out, err } = await home.run(['simulate', 'agents.jsonl', '--beginnings', '--json'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const { simulations } = JSON.parse(out) as Simulated
    expect(simulations.map(({ name }) => name)).toEqual(['no affinity', 'affinity', 'affinity + parking'])
    const [none = 0, affinity = 0, parking = 0] = simulations.map(({ prompts }) => prompts.computed)
    expect([affinity < none, parking < affinity]).toEqual([true, true])
    const table = await home.run(['simulate', 'agents.jsonl', '--beginnings'])
    expect(table.out).toMatch(/^ +no affinity +affinity +affinity \+ parking\nserved +54 +54 +54\n/)
    expect(table.out).toMatch(/first token, 99 of 100 below +\d.*prompt tokens computed +\d+ +\d+ +\d+\n/s)
  })

  it('prints a table for people', async () => {
    await writeTrace()
    const { code, out } = await home.run(['simulate', 'day.jsonl', '--policy', 'lru'])
    expect(code).toBe(0)
    expect(out).toMatch(/^ +as recorded +lru\nserved +40 +40\n/)
  })

  it.skipIf(process.platform === 'win32').each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends it while it computes', async (signal, code) => {
    const header = { modelyardTrace: 1, memory: { ram: '8 GiB' } }
    const requests = Array.from({ length: 100_000 }, (_, index) => ({ at: index * 20, model: 'a', hold: 10 }))
    const lines = [header, { model: { id: 'a', bytes: '6 GiB' } }, ...requests]
    // Through a pipe: when all is written, the command has read nearly all of it.
    const pipe = join(home.path, 'long.jsonl')
    expect(spawnSync('/bin/sh', ['-c', 'mkfifo "$0"', pipe]).status).toBe(0)
    const program = home.start(['simulate', pipe])
    await writeFile(pipe, lines.map((line) => JSON.stringify(line)).join('\n'))
    program.kill(signal)
    expect(await program.ended).toMatchObject({ code, out: '', err: '' })
  })

  it('says which line of the file is wrong, and that there is none', async () => {
    await writeFile(join(home.path, 'day.jsonl'), 'no trace\n')
    const wrong = await home.run(['simulate', 'day.jsonl'])
    expect([wrong.code, wrong.err]).toEqual([
      2,
      expect.stringContaining('day.jsonl, line 1: is not a JSON object'),
    ])
    const missing = await home.run(['simulate', 'none.jsonl'])
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining('there is no such file')])
  })
})
