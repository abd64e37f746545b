/** A family as it stands in the text. */
export interface ReadFamily {
  help: string
  type: string
  samples: { name: string; labels: Record<string, string>; value: number }[]
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"/y

/** Reads the text format 0.0.4 of Prometheus by its letter. @throws Error for everything that a careful reader would refuse */
export function readExposition(text: string): Map<string, ReadFamily> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const families = new Map<string, ReadFamily>()
  const seen = new Set<string>()
  let current: string | undefined
  for (const line of text.slice(0, -1).split('\n')) {
    const comment = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line)
    if (comment !== null) {
      const [, kind = '', name = '', rest = ''] = comment
      if (!NAME.test(name)) throw new Error(`bad name: ${line}`)
      if (kind === 'HELP') {
        if (families.has(name)) throw new Error(`twice: ${name}`)
        families.set(name, { help: rest, type: '', samples: [] })
        current = name
      } else {
        const family = families.get(name)
        if (family === undefined || name !== current || family.samples.length > 0)
          throw new Error(`misplaced: ${line}`)
        if (!['counter', 'gauge', 'histogram'].includes(rest)) throw new Error(`unknown type: ${line}`)
        family.type = rest
      }
      continue
    }
    const sample = readSample(line)
    const family = families.get(current ?? '')
    if (family === undefined || current === undefined) throw new Error(`no family for: ${line}`)
    const endings = family.type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
    if (!endings.some((ending) => sample.name === current + ending))
      throw new Error(`foreign sample: ${line}`)
    const key =
      sample.name + JSON.stringify(Object.entries(sample.labels).toSorted(([a], [b]) => a.localeCompare(b)))
    if (seen.has(key)) throw new Error(`the same sample twice: ${line}`)
    seen.add(key)
    family.samples.push(sample)
  }
  for (const [name, family] of families) checkFamily(name, family)
  return families
}

function readSample(line: string): ReadFamily['samples'][number] {
  const match = /^([^{ ]+)(?:\{(.*)\})? (\S+)$/.exec(line)
  const [, name = '', inside, written = ''] = match ?? []
  if (match === null || !NAME.test(name)) throw new Error(`no sample: ${line}`)
  return {
    name,
    labels: inside === undefined ? {} : readLabels(inside, line),
    value: readNumber(written, line),
  }
}

function readLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {}
  for (let at = 0; at < text.length;) {
    LABEL.lastIndex = at
    const match = LABEL.exec(text)
    if (match === null) throw new Error(`bad label: ${line}`)
    const [whole, label = '', value = ''] = match
    if (label in labels || label.startsWith('__')) throw new Error(`bad label name: ${line}`)
    labels[label] = value.replaceAll(/\\(.)/g, (_, letter: string) => (letter === 'n' ? '\n' : letter))
    at += whole.length
    if (at < text.length && text[at++] !== ',') throw new Error(`bad separator: ${line}`)
  }
  return labels
}

function readNumber(text: string, line: string): number {
  if (text === '+Inf') return Infinity
  if (text === '-Inf') return -Infinity
  const value = Number(text)
  if (text === '' || Number.isNaN(value)) throw new Error(`no number: ${line}`)
  return value
}

/** The conventions: a counter ends in _total and never falls below zero, units are base units, histograms add up. */
function checkFamily(name: string, { help, type, samples }: ReadFamily): void {
  if (help === '' || type === '' || samples.length === 0) throw new Error(`incomplete: ${name}`)
  if ((type === 'counter') !== name.endsWith('_total'))
    throw new Error(`only counters end in _total: ${name}`)
  if (/_(ms|milliseconds|kb|mb|kib|mib|minutes|percent)(_total)?$/.test(name))
    throw new Error(`no base unit: ${name}`)
  if (type === 'counter' && samples.some(({ value }) => value < 0)) throw new Error(`negative: ${name}`)
  if (type === 'histogram') checkHistogram(name, samples)
}

function checkHistogram(name: string, samples: ReadFamily['samples']): void {
  const buckets = samples.filter((sample) => sample.name === `${name}_bucket`)
  const bounds = buckets.map(({ labels }) => readNumber(labels['le'] ?? '', name))
  const counts = buckets.map(({ value }) => value)
  const rises = (values: number[]): boolean =>
    values.every((value, index) => index === 0 || value >= (values[index - 1] ?? 0))
  const count = samples.find((sample) => sample.name === `${name}_count`)?.value
  const sum = samples.find((sample) => sample.name === `${name}_sum`)?.value
  if (
    !rises(bounds) ||
    !rises(counts) ||
    bounds.at(-1) !== Infinity ||
    counts.at(-1) !== count ||
    sum === undefined
  )
    throw new Error(`no histogram: ${name}`)
}
