import { expect, it } from 'vitest'
import { yardDirectories } from '../../config/directories.ts'
import { parseConfiguration } from '../../config/parse-configuration.ts'
import { createDesk } from '../test-desk.ts'
import { requireEnginesOf } from './require-engine.ts'

it('a model of an endpoint that an entry for many stands for needs no engine of its own', async () => {
  const configuration = parseConfiguration(
    { models: { 'lab/*': { engine: 'upstream', url: 'http://127.0.0.1:9/v1' } } },
    { directories: yardDirectories({ MODELYARD_HOME: '/nowhere' }, '/'), directory: '/' },
  )
  const { context } = createDesk()
  await requireEnginesOf(context, configuration, [{ id: 'lab/tiny' }], { install: false })
  await expect(
    requireEnginesOf(context, configuration, [{ id: 'tiny.gguf' }], { install: false }),
  ).rejects.toMatchObject({ code: 'engine_missing' })
})
