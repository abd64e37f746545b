import type { ChatTask } from '../../tasks/chat-task.ts'
import { invalidField, type Fields } from '../fields.ts'

/** Tokens a model may think; the highest level is left to the model. Our own choice: the API names no numbers. */
const BUDGETS: Record<string, number | undefined> = { low: 1024, medium: 4096, high: undefined }

/** `think`; absent = as the model does by itself. */
export function decodeThink(body: Fields): ChatTask['reasoning'] {
  const think = body['think']
  if (think === undefined || think === null) return undefined
  if (typeof think === 'boolean') return { enabled: think }
  if (typeof think !== 'string' || !Object.hasOwn(BUDGETS, think)) {
    throw invalidField('think', `'think' must be true, false, "low", "medium" or "high".`)
  }
  const budget = BUDGETS[think]
  return budget === undefined ? { enabled: true } : { enabled: true, budget }
}
