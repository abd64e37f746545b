import { describe, expect, it } from 'vitest'
import { parseSmapsRollup } from './process-memory.ts'

const ROLLUP = `00400000-7ffed541f000 ---p 00000000 00:00 0                          [rollup]
Rss:              300000 kB
Pss:              150000 kB
Pss_Anon:          50000 kB
Pss_File:          90000 kB
Pss_Shmem:         10000 kB
Anonymous:         52000 kB
AnonHugePages:     99999 kB
Swap:              77777 kB
`

describe('what a process holds (M12)', () => {
  it('is private what is gone with it, shared its file pages, whole; swap is not memory', () => {
    expect(parseSmapsRollup(ROLLUP)).toEqual({ private: 62_000 * 1024, shared: 238_000 * 1024 })
  })

  it('is told apart on old kernels too', () => {
    const old = 'Rss:              300 kB\nPss:              150 kB\nAnonymous:         50 kB\n'
    expect(parseSmapsRollup(old)).toEqual({ private: 50 * 1024, shared: 250 * 1024 })
  })

  it('is nothing where nothing is said', () => {
    expect(parseSmapsRollup('')).toEqual({ private: 0, shared: 0 })
  })
})
