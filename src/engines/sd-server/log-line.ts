/** What one line of the program's output tells of how far it is. */
export type LogNews = { stage: 'reading'; fraction: number } | { stage: 'computing' }

/** `  |=====>      | 3/20 - 1.52s/it`: a step; `… | 1131/1131 - 1.66GB/s`: tensors of the model. Source: `pretty_progress` in util.cpp. */
const PROGRESS = /\| (\d+)\/(\d+) - [\d.]+(s\/it|it\/s|[KMG]?B\/s)/
/** `generating image: 1/1 - seed 42`, `decoding 1 latents`, `sampling completed, taking 4.86s`. */
const STAGE = /generating image|decoding|completed, taking|processing \d+ tiles/

/** Undefined for all that is no movement. */
export function newsOf(line: string): LogNews | undefined {
  const [, done = '', all = '', unit = ''] = PROGRESS.exec(line) ?? []
  if (unit.endsWith('B/s')) {
    return Number(all) > 0
      ? { stage: 'reading', fraction: Math.min(1, Number(done) / Number(all)) }
      : undefined
  }
  return unit !== '' || STAGE.test(line) ? { stage: 'computing' } : undefined
}

/** The last lines that it calls errors, oldest first and without their place in the source; never what was asked for, which it does not print. */
export function complaintsIn(lines: readonly string[]): string[] {
  return lines.flatMap((line) => {
    const said = /\[ERROR\s*\]\s*(?:\S+:\d+\s+- )?(.*)$/.exec(line)?.[1]?.trim()
    return said === undefined || said === '' ? [] : [said.slice(0, 300)]
  })
}
