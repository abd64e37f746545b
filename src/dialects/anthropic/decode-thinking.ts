import type { ChatTask } from '../../tasks/chat-task.ts'
import { asNumber, invalidField, optionalChoice, optionalFields, type Fields } from '../fields.ts'

/** Whether and how long the model may think, and whether the client wants to see it. */
export interface ThinkingChoice {
  /** Absent: as the model does by itself. */
  reasoning?: ChatTask['reasoning']
  /** False: thinking blocks come, but empty (`display: "omitted"`). */
  shown: boolean
}

const LEAST_BUDGET = 1024
const TYPES = ['enabled', 'disabled', 'adaptive', 'between_tools'] as const

/** `thinking`. @param maxTokens the limit of the whole answer, which the budget must stay below */
export function decodeThinking(body: Fields, maxTokens?: number): ThinkingChoice {
  const fields = optionalFields(body, 'thinking')
  if (fields === undefined) return { shown: true }
  const type = optionalChoice(fields, 'type', TYPES, 'thinking.')
  if (type === undefined) throw invalidField('thinking.type', `'thinking.type' is missing.`)
  const display = optionalChoice(fields, 'display', ['summarized', 'omitted'] as const, 'thinking.')
  const shown = display !== 'omitted'
  if (type === 'disabled') return { reasoning: { enabled: false }, shown }
  // Whether and when is up to the model: one that cannot think never does.
  if (type !== 'enabled') return { shown }
  return { reasoning: { enabled: true, budget: decodeBudget(fields, maxTokens) }, shown }
}

function decodeBudget(fields: Fields, maxTokens: number | undefined): number {
  const param = 'thinking.budget_tokens'
  const budget = asNumber(fields['budget_tokens'], param, { least: LEAST_BUDGET, integer: true })
  if (maxTokens === undefined || budget < maxTokens) return budget
  throw invalidField(param, `'${param}' is ${budget}, but it must be less than 'max_tokens' (${maxTokens}).`)
}
