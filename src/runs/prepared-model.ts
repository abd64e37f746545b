import type { EngineCapabilities } from '../engines/engine.ts'

/** A model that is ready to be acquired: its files are here, it is planned and declared to the pool. */
export interface PreparedModel {
  id: string
  capabilities: EngineCapabilities
}
