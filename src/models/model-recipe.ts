import type { Message } from '../tasks/message.ts'
import type { ModelDefaults } from './model-spec.ts'

/** A model made from another one by nothing but defaults: both are the same in memory, and only the requests differ. */
export interface ModelRecipe {
  /** Id of the model it stands on; never another recipe. */
  from: string
  /** Used when a request has no system message. Absent: as the model it stands on has it. */
  system?: string
  /** Turns before those of a request. */
  messages?: Message[]
  /** Used where a request leaves a value out, before those of the model it stands on. */
  defaults: ModelDefaults
  /** Stop strings of requests that have none. */
  stop?: string[]
  license?: string
}
