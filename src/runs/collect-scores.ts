import type { Usage } from '../tasks/usage.ts'
import type { Run, RunInfo } from './run.ts'

/** Scores from 0 to 1 in the order of the documents. */
export interface Scores {
  scores: number[]
  usage: Usage
  info: RunInfo
}

/** Runs a ranking to its end. @throws ModelyardError as the run does; a call that was aborted or timed out rejects (P13) */
export async function collectScores(run: Run): Promise<Scores> {
  const scores: number[] = []
  for (;;) {
    const next = await run.parts.next()
    if (next.done === true) return { scores, usage: next.value.usage, info: run.info }
    if (next.value.type === 'score') scores[next.value.index] = next.value.score
  }
}
