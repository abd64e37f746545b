import { defineConfig, type UserConfig } from 'tsdown'

// Four entries share their chunks: the library, the testing kit, the command line and the worker's main program.
const config: UserConfig = defineConfig({
  entry: {
    index: 'src/index.ts',
    testing: 'src/testing/index.ts',
    cli: 'src/cli/main.ts',
    worker: 'src/engines/worker/main.ts',
  },
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  dts: true,
  sourcemap: true,
  clean: true,
  fixedExtension: false,
  deps: { neverBundle: ['node-llama-cpp'] },
  // Node takes most of a millisecond for each file that it imports: what all entries share lies in one, not in one for each set of users.
  outputOptions: {
    codeSplitting: { groups: [{ name: 'common', test: /src\/(base|events|tasks)\// }] },
  },
})
export default config
