import type { ModelSpec } from '../model-spec.ts'

/** A spec with the defaults of the configuration. */
export function specOf(id: string, changes: Partial<ModelSpec> = {}): ModelSpec {
  return {
    id,
    slots: 4,
    minInstances: 0,
    maxInstances: 1,
    keepAlive: 300_000,
    pinned: false,
    prepare: 'on-demand',
    isolation: 'worker',
    device: { gpu: 'auto', memoryLock: false },
    aliases: [],
    defaults: {},
    engineOptions: {},
    ...changes,
  }
}
