import { describe, expect, it } from 'vitest'
import type { LoadPlan } from '../engine.ts'
import { launchArguments } from './launch-arguments.ts'
import { EARLIER_FLAGS, releaseFlagsIn, type ReleaseFlags } from './release-flags.ts'

const DRAFT = { path: '/small.gguf', tokens: 4 }

/** Lines of the help of v0.4.0, with what it lists as gone. */
const HELP = [
  '-lm,   --load-mode MODE                 model loading mode (default: auto)',
  '                                        - mmap+mlock: mmap + force system to keep model in RAM rather than',
  '--spec-draft-n-max N                    number of tokens to draft for speculative decoding (default: 3)',
  '--spec-type none,draft-simple,draft-eagle3,draft-mtp,ngram-simple',
  '--draft, --draft-n, --draft-max N       the argument has been removed. use --spec-draft-n-max or',
]
const NEWER = releaseFlagsIn(HELP)

function argumentsOf(
  flags: ReleaseFlags | undefined,
  engineOptions: Record<string, unknown>,
  memoryLock = false,
): string {
  const plan = {
    model: 'm',
    contextSize: 300,
    slots: 2,
    threads: 2,
    footprint: {},
    facts: { path: '/m.gguf', purpose: 'generation' },
    spec: { id: 'm', engineOptions, device: { gpu: false, memoryLock } },
  } as unknown as LoadPlan
  const conditions = { cores: 2, batchSize: 64, slotFolder: '/slots' }
  return launchArguments(plan, { ...conditions, ...(flags !== undefined && { flags }) }).join(' ')
}

describe('the flags of a release', () => {
  it('are read from its help; what is listed as gone counts as gone', () => {
    expect(NEWER).toEqual({
      draftTokens: '--spec-draft-n-max',
      draftUse: ['--spec-type', 'draft-simple'],
      hasLoadMode: true,
    })
  })

  it.each([
    [[]],
    [['--draft-max N  number of tokens to draft (default: 16)', '--mlock', '--spec-type none,ngram-cache']],
  ])('are the earlier ones where it says %j', (help) => {
    expect(releaseFlagsIn(help)).toEqual(EARLIER_FLAGS)
  })
})

describe('a draft model', () => {
  it('is named, and used, with the flags of the release', () => {
    expect(argumentsOf(undefined, { draft: DRAFT })).toContain('-md /small.gguf --draft-max 4')
    expect(argumentsOf(NEWER, { draft: DRAFT })).toContain(
      '-md /small.gguf --spec-type draft-simple --spec-draft-n-max 4',
    )
    expect(argumentsOf(NEWER, { draft: { path: '/small.gguf' } })).toContain('--spec-type draft-simple')
    expect(argumentsOf(NEWER, { draft: { path: '/small.gguf' } })).not.toContain('n-max')
    expect(argumentsOf(NEWER, {})).not.toContain('--spec')
  })
})

describe('how the weights lie in memory', () => {
  it.each([
    [true, false, '', ''],
    [true, true, '--mlock', '--load-mode mmap+mlock'],
    [false, false, '--no-mmap', '--load-mode none'],
    [false, true, '--no-mmap --mlock', '--load-mode mlock'],
  ])('mapped %j, locked %j: earlier "%s", later "%s"', (memoryMap, locked, earlier, later) => {
    const said = (flags: ReleaseFlags): string =>
      (argumentsOf(flags, { memoryMap }, locked).match(/--(?:no-mmap|mlock|load-mode \S+)/g) ?? []).join(' ')
    expect(said(EARLIER_FLAGS)).toBe(earlier)
    expect(said(NEWER)).toBe(later)
  })
})
