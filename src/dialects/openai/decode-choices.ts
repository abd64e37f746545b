import type { TextGeneration } from '../../tasks/sampling.ts'
import { optionalNumber, type Fields } from '../fields.ts'

/** Each choice is a run of its own, one after the other: more of them would hold a slot for long. */
const MOST_CHOICES = 8

/** `n`: choices for each prompt. */
export function decodeChoices(body: Fields): number {
  return optionalNumber(body, 'n', { least: 1, most: MOST_CHOICES, integer: true }) ?? 1
}

/** The task once for each choice. A seed is another for each of them, or all would be the same. */
export function repeatTask<Task extends TextGeneration>(task: Task, choices: number): Task[] {
  return Array.from({ length: choices }, (_, choice) => {
    const { seed } = task.sampling
    if (choice === 0 || seed === undefined) return task
    return { ...task, sampling: { ...task.sampling, seed: (seed + choice) >>> 0 } }
  })
}
