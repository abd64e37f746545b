import { afterAll, describe, expect, it } from 'vitest'
import { engineContract } from '../../src/testing/index.ts'
import { mlxSubject } from '../contracts/mlx-subject.ts'
import { temporaryFolder } from '../models/paths.ts'
import { engine, MISSING, planOf, removeFolder, TINY_VISION } from './fixtures.ts'

const known = mlxSubject(engine, await temporaryFolder())
const { capabilities } = await planOf(TINY_VISION)
const contract = engineContract({
  ...known,
  capabilities,
  plan: async ({ slots, contextSize }) => planOf(TINY_VISION, { slots, context: contextSize }),
  gaps: {
    ...known.gaps,
    'uses a kept prefix again, never all of a prompt, and answers as it would without':
      'mlx_vlm’s server keeps no beginnings unless it is asked to, which it is not: docs/decisions/2026-12-01-mlx-vision.md',
  },
})
afterAll(async () => {
  await contract.close()
  await removeFolder()
})

describe.skipIf(MISSING !== undefined)(`mlx, a model that sees (${MISSING ?? 'a real one'})`, () => {
  const asked = contract.cases.filter(({ gap }) => gap === undefined)
  // A form is kept in stretches, and each evaluates the whole prompt again where no beginnings are kept.
  it.each(asked.map(({ name, run }) => [name, run] as const))(
    '%s',
    async (_, run) => {
      await expect(run()).resolves.toBeUndefined()
    },
    400_000,
  )
})
