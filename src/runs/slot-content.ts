import type { LeaseOutcome } from '../pool/lease.ts'
import { fingerprintWithAnswer, sharedBeginning, type Fingerprint } from '../tasks/fingerprint.ts'
import type { Message } from '../tasks/message.ts'
import type { SourceOutcome } from './part-buffer.ts'
import type { RunRequest } from './run.ts'

/** What a run leaves in its slot (F11): nothing that anybody knows where it failed, or may be kept for nobody. `answer` = what it said. Pure. */
export function slotContent(
  { task, cache, keep }: RunRequest,
  fingerprint: Fingerprint,
  outcome: SourceOutcome,
  answer: () => Message & { role: 'assistant' },
): LeaseOutcome {
  if ('error' in outcome || cache === 'none') return {}
  if (task.kind !== 'chat' && task.kind !== 'completion') return {}
  const { timings } = outcome.result
  const { promptTokens, cachedTokens, completionTokens } = outcome.result.usage
  const usage = { promptTokens, cachedTokens, completionTokens, prefill: timings.prefill }
  if (keep === true) return { fingerprint: sharedBeginning(task), usage, keep: true }
  if (task.kind === 'completion') return { fingerprint, usage }
  return { fingerprint: fingerprintWithAnswer(fingerprint, answer()), usage }
}
