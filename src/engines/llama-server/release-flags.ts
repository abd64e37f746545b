import { stat } from 'node:fs/promises'
import type { LoadPlan } from '../engine.ts'
import { askProgram } from '../supervision/ask-program.ts'
import type { FoundServer } from './find-server.ts'
import { llamaServerOptions } from './llama-server-options.ts'

/** What releases of llama-server call differently, or have changed the meaning of, as its own help tells. */
export interface ReleaseFlags {
  /** Before the most tokens that a draft model guesses. */
  draftTokens: '--draft-max' | '--spec-draft-n-max'
  /** Beside `-md`, what has the draft model used. Where there is none, `-md` is enough. */
  draftUse: readonly string[]
  /** Whether one flag (`--load-mode`) says how the weights lie in memory; there, `--mlock` alone means that they are not mapped. */
  hasLoadMode: boolean
}

/** Of releases before 2026's v0.4.0, as far as they have these flags, and of the wheel's launcher. */
export const EARLIER_FLAGS: ReleaseFlags = { draftTokens: '--draft-max', draftUse: [], hasLoadMode: false }

/** Reads the lines of `llama-server --help`. Flags that are gone may be listed beside those that took their place. */
export function releaseFlagsIn(help: readonly string[]): ReleaseFlags {
  const text = help.join('\n')
  return {
    draftTokens: text.includes('--spec-draft-n-max') ? '--spec-draft-n-max' : '--draft-max',
    draftUse: text.includes('draft-simple') ? ['--spec-type', 'draft-simple'] : [],
    hasLoadMode: text.includes('mmap+mlock'),
  }
}

/** The flags for this load. The program is asked only where something hangs on it; one that does not say is taken for an earlier one. */
export async function releaseFlagsFor(
  plan: LoadPlan,
  { command, from }: Pick<FoundServer, 'command' | 'from'>,
): Promise<ReleaseFlags> {
  if (from === 'wheel' || !hangsOnRelease(plan)) return EARLIER_FLAGS
  const help = await askProgram(command, '--help', await stat(command))
  return help === undefined ? EARLIER_FLAGS : releaseFlagsIn(help)
}

function hangsOnRelease({ spec }: LoadPlan): boolean {
  const { draft, memoryMap = true } = llamaServerOptions(spec)
  return draft !== undefined || spec.device.memoryLock || !memoryMap
}
