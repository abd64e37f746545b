import { defineConfig, type ViteUserConfig } from 'vitest/config'

const config: ViteUserConfig = defineConfig({
  test: {
    reporters: ['default', './test/reporter/closing-line.ts'],
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['src/**/*.test.ts'], testTimeout: 30_000 },
      },
      {
        // Real child programs, real models, real sockets: deadlines with margin, one file per core.
        extends: true,
        test: {
          name: 'process',
          include: ['test/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
})
export default config
