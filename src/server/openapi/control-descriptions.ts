import { CONTEXT_DESCRIPTIONS } from './context-descriptions.ts'
import { INFERENCE_DESCRIPTIONS } from './inference-descriptions.ts'
import { MODEL_DESCRIPTIONS } from './model-descriptions.ts'
import type { Descriptions } from './route-description.ts'
import { RUN_DESCRIPTIONS } from './run-descriptions.ts'
import { SERVER_DESCRIPTIONS } from './server-descriptions.ts'
import { STATE_DESCRIPTIONS } from './state-descriptions.ts'

/** Every route of the control API. */
export const CONTROL_DESCRIPTIONS: Descriptions = {
  ...SERVER_DESCRIPTIONS,
  ...STATE_DESCRIPTIONS,
  ...MODEL_DESCRIPTIONS,
  ...RUN_DESCRIPTIONS,
  ...CONTEXT_DESCRIPTIONS,
  ...INFERENCE_DESCRIPTIONS,
}
