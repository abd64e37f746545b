import { describe, expect, it } from 'vitest'
import { waitSentence, type Wait } from './wait.ts'

const GIB = 1024 ** 3

describe('what a ticket waits for, in words with numbers (R19)', () => {
  it.each<[Wait, string]>([
    [{ kind: 'slot', instance: 'm#1', slots: 4 }, 'all 4 slots of m#1 are in use'],
    [{ kind: 'load', instance: 'm#1', progress: 0.424, since: 4000 }, 'm#1 has been loading for 6 s (42 %)'],
    [{ kind: 'load', instance: 'm#1', progress: undefined, since: 9500 }, 'm#1 has been loading for 500 ms'],
    [{ kind: 'concurrency', runs: 8, limit: 8 }, '8 of at most 8 runs are active'],
    [
      { kind: 'threads', needed: 3, active: 4, limit: 4, users: ['a#1', 'b#2'] },
      'it needs 3 threads; 4 of 4 are used by a#1, b#2',
    ],
    [{ kind: 'turn', instance: 'a#1', of: 'b', since: 4800 }, 'a#1 makes way for b, which has waited 5.2 s'],
    [
      { kind: 'idle', needs: 6 * GIB, domain: 'ram', free: 2 * GIB, holders: ['a#1'] },
      'it needs 6 GiB of ram, 2 GiB are free; waits until a#1 can go',
    ],
    [{ kind: 'evicting', victims: ['a#1'], frees: 6 * GIB }, 'a#1 is unloaded to free 6 GiB'],
    [{ kind: 'leaving', instances: ['a#1'], bytes: GIB }, '1 GiB of a#1 are not seen back yet'],
    [
      { kind: 'host', domain: 'ram', needed: 7 * GIB, available: GIB, until: 15_000 },
      'ram must have 7 GiB free and has 1 GiB; tries for 5 s more',
    ],
    [
      { kind: 'host', domain: 'gpu:0', needed: GIB, available: undefined, until: 0 },
      'gpu:0 must have 1 GiB free and has an amount that cannot be read; tries for 0 ms more',
    ],
    [
      { kind: 'places', large: 3, limit: 3, holders: ['a', 'b', 'c'] },
      '3 of at most 3 large models are in memory: a, b, c',
    ],
    [{ kind: 'measuring' }, 'the free memory of this machine is being read'],
  ])('%o', (wait, sentence) => {
    expect(waitSentence(wait, 10_000)).toBe(sentence)
  })
})
