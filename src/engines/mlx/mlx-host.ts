import type { Clock } from '../../base/clock.ts'
import type { MlxPromptMaker } from './mlx-prompt.ts'

/** What a run needs of the model it runs on. */
export interface MlxHost extends MlxPromptMaker {
  clock: Clock
  draftTokens: number
  /** A token came or a prefill moved. */
  moved: () => void
}
