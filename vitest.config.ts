import { configDefaults, defineConfig, type ViteUserConfig } from 'vitest/config'
import { LongestFirst } from './test/order/longest-first.ts'

/** 6 GB of packages (`npm run test:vllm`), half an hour of compiling (`npm run test:compiled`), 470 MB (`npm run test:vision`): only for whoever asks. */
const OPTIONAL = {
  MODELYARD_VLLM: 'test/vllm/**',
  MODELYARD_COMPILED: 'test/compiled/**',
  MODELYARD_VISION: 'test/mlx-vision/**',
}
const UNASKED = Object.entries(OPTIONAL).flatMap(([name, files]) => (process.env[name] === '1' ? [] : files))

/** Puts the program that was compiled before all others. */
const COMPILED = process.env['MODELYARD_COMPILED'] === '1' ? ['./test/compiled/compile-first.ts'] : []

/**
 * Files that mostly wait for child programs, sockets and the network, and assert neither memory nor a time that a neighbour could make them
 * miss: three at a time. What is new in these folders must be so, too, or be left out.
 */
const WAITING = [
  'test/{cli,config,downloads}/**/*.test.ts',
  'test/clients/python.test.ts',
  'test/yard/neighbour.test.ts',
]

/**
 * Folders of files that leave nothing behind in their process and do not ask for its memory. They share one and what it has imported,
 * which takes a second of each file otherwise; no native code of an engine runs in it.
 */
const SHARED = ['clients', 'conformance', 'http', 'sd-server', 'templates', 'upstream']

/** Where tests run, nobody's own models or settings are seen. */
const ALONE = './test/preparation/without-users-home.ts'

const PROCESS = {
  setupFiles: [ALONE, './test/preparation/await-engines.ts', './test/preparation/remove-homes.ts'],
  // As long as `until` of the tests waits: the default is a second.
  expect: { poll: { timeout: 20_000 } },
  testTimeout: 120_000,
  hookTimeout: 180_000,
}

const config: ViteUserConfig = defineConfig({
  test: {
    reporters: ['default', './test/reporter/closing-line.ts'],
    pool: 'forks',
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        // Pure code: files share a process and what it has imported. They come first, while `npm test` fetches engines and models.
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts'],
          setupFiles: [ALONE],
          testTimeout: 30_000,
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { ...PROCESS, name: 'waiting', include: WAITING, maxWorkers: 3, sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: {
          ...PROCESS,
          name: 'shared',
          include: [`test/{${SHARED.join(',')}}/**/*.test.ts`],
          exclude: [...configDefaults.exclude, ...WAITING],
          isolate: false,
          sequence: { groupOrder: 2 },
        },
      },
      {
        // Real child programs, real models, real sockets: deadlines with margin, one file per core.
        extends: true,
        test: {
          ...PROCESS,
          name: 'process',
          include: [`test/!(${SHARED.join('|')})/**/*.test.ts`],
          globalSetup: COMPILED,
          exclude: [...configDefaults.exclude, ...WAITING, ...UNASKED],
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
export default config
