import { execFileSync } from 'node:child_process'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestHome } from '../cli/program.ts'
import { buildGguf, llamaMetadata } from '../gguf/build-gguf.ts'
import { SIZED_ANSWER, sizedModel } from '../models/generated-models.ts'
import { HAS_LLAMA, openHome, serve, type ChatAnswer, type ServedYard } from './harness.ts'
import { MemoryGroup } from './memory-group.ts'

const GIB = 1024 ** 3
const LIMIT = 3 * GIB

/** Tokens at which a sized model takes more than half of the budget, which is 75 % of the limit. */
const HALF = 19_456

/** Its pages are charged to whoever reads them next: to the group, as on a machine that was just started. Where that fails nothing is lost. */
function forgetPages(file: string): void {
  try {
    execFileSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0'], { stdio: 'ignore' })
  } catch {
    // Not GNU's dd.
  }
}

/** A file whose header promises weights of 4 GiB; its data is a hole that takes no room on the disk. */
async function hugeModel(folder: string): Promise<string> {
  const path = join(folder, 'huge.gguf')
  const weights = { name: 'token_embd.weight', dimensions: [64, 2 ** 24], type: 0, bytes: 0 }
  const header = buildGguf({ metadata: llamaMetadata(), tensors: [weights] })
  await writeFile(path, header)
  await truncate(path, header.length + 4 * GIB)
  return path
}

describe.runIf(HAS_LLAMA)('in a memory control group of 3 GiB', () => {
  const group = MemoryGroup.create(LIMIT)
  let home: TestHome
  let served: ServedYard | undefined

  beforeAll(async () => {
    if (typeof group === 'string') return
    const [a, b] = [sizedModel('a'), sizedModel('b')]
    for (const file of [a, b]) forgetPages(file)
    home = await openHome()
    await home.configure({
      models: {
        a: { file: a, context: HALF, slots: 1, device: { threads: 1 } },
        b: { file: b, context: HALF, slots: 1, device: { threads: 1 } },
        long: { file: a, context: 65_536, slots: 1 },
        many: { file: b, context: 16_384, slots: 8 },
        huge: { file: await hugeModel(home.path) },
      },
    })
    served = await serve(home, [], { controlGroup: group.directory })
  })
  afterAll(async () => {
    if (typeof group === 'string') return
    await served?.stop()
    await home.remove()
    await group.remove()
  })

  /** The server in its group; elsewhere than on Linux, or without the right to make one, the test says that it did not run, and why. */
  function inGroup(skip: (note: string) => never): ServedYard & { group: MemoryGroup } {
    if (typeof group === 'string') return skip(group)
    if (served === undefined) throw new Error('The server did not start.')
    return { ...served, group }
  }

  it.for([
    ['long', 65_536],
    ['many', 16_384],
    ['huge', 2048],
  ] as const)(
    'R6, M5: a model or context that cannot fit is refused at once with need, limit and the largest context, five times in a row, without an OOM kill: %s',
    async ([model, asked], { skip }) => {
      const { api, ...ours } = inGroup(skip)
      const refusals: { took: number; answer: ChatAnswer }[] = []
      // The first request of a server loads the code of the language, the first of a model reads its header.
      await api.chat('hi', { model: 'nobody' })
      for (let time = 0; time < 5; time++) {
        const begun = performance.now()
        const answer = await api.chat('hi', { model })
        refusals.push({ took: performance.now() - begun, answer })
      }
      const message = model === 'huge' ? /No context is small enough/ : /largest context that fits is \d+/
      for (const { answer } of refusals) {
        expect(answer).toMatchObject({ status: 507, body: { error: { code: 'model_too_large' } } })
        const { error } = answer.body as { error: { message: string } }
        expect(error.message).toMatch(/needs [\d.]+ GiB of ram, the limit is 2\.3 GiB/)
        expect(error.message).toMatch(message)
        expect(error.message.includes(`asked: ${asked}`)).toBe(model !== 'huge')
      }
      // What a busy machine adds is not ours.
      expect(Math.min(...refusals.map(({ took }) => took))).toBeLessThan(50)
      expect((await api.state()).instances).toEqual([])
      expect(ours.group.kills).toBe(0)
    },
  )

  it('R8, BR-65: two models that fit only one at a time alternate 20 times without an OOM kill, and the memory comes back each time', async ({
    skip,
  }) => {
    const { api, ...ours } = inGroup(skip)
    const usages: number[] = []
    for (let turn = 0; turn < 20; turn++) {
      const model = turn % 2 === 0 ? 'a' : 'b'
      expect(await api.chat('hi', { model })).toMatchObject({ status: 200, text: SIZED_ANSWER })
      const { instances, memory } = await api.state()
      expect(instances.map((instance) => instance.model)).toEqual([model])
      expect(memory.ram).toMatchObject({ budget: 0.75 * LIMIT })
      expect(memory.ram?.booked).toBeLessThan(0.75 * LIMIT)
      usages.push(ours.group.usage)
    }
    expect(ours.group.kills).toBe(0)
    // Both files may stay in the page cache of the group; all else is one model.
    const [first = 0] = usages
    expect(Math.max(...usages) - first).toBeLessThan(0.3 * GIB)
    const models = (await api.state()).models.filter(({ id }) => id === 'a' || id === 'b')
    expect(models.map(({ loads }) => loads)).toEqual([10, 10])
  }, 600_000)
})
