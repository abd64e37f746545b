import type { ModelRecipe } from '../models/model-recipe.ts'
import type { ModelDefaults } from '../models/model-spec.ts'
import type { Message } from '../tasks/message.ts'
import type { Sampling, TextGeneration } from '../tasks/sampling.ts'
import { writesText, type Task } from '../tasks/task.ts'

/** A task as the model that a recipe stands on is to do it: what the task leaves out comes from the recipe. Pure. */
export function applyRecipe(task: Task, recipe: ModelRecipe): Task {
  if (!writesText(task)) return task
  const generation = { ...task, ...generationOf(task, recipe) }
  if (generation.kind !== 'chat') return generation
  return { ...generation, messages: messagesOf(generation.messages, recipe) }
}

function generationOf(task: TextGeneration, { defaults, stop = [] }: ModelRecipe): Partial<TextGeneration> {
  const maxTokens = task.maxTokens ?? defaults.maxTokens
  return {
    sampling: { ...samplingOf(defaults), ...task.sampling },
    stop: task.stop.length > 0 ? task.stop : stop,
    ...(maxTokens === undefined ? {} : { maxTokens }),
  }
}

function samplingOf(defaults: ModelDefaults): Sampling {
  const { maxTokens: _, ...sampling } = defaults
  return sampling
}

/** The request's own system message counts, else the recipe's; its turns come before those of the request. */
function messagesOf(messages: readonly Message[], { system, messages: turns = [] }: ModelRecipe): Message[] {
  const start = messages.findIndex(({ role }) => role !== 'system')
  const own = start < 0 ? messages : messages.slice(0, start)
  const rest = start < 0 ? [] : messages.slice(start)
  const wanted = system !== undefined && !messages.some(({ role }) => role === 'system')
  const first: Message[] = wanted ? [{ role: 'system', content: system }] : []
  return [...first, ...own, ...turns, ...rest]
}
