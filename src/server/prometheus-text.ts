/** One line of a family: its labels and its value. */
export interface Sample {
  labels?: Readonly<Record<string, string | number>>
  value: number
}

/** Measurements of one name, in the terms of Prometheus. Base units; counters end in `_total`. */
export type MetricFamily =
  | { name: string; help: string; type: 'counter' | 'gauge'; samples: readonly Sample[] }
  | { name: string; help: string; type: 'histogram'; histogram: HistogramReading }

export interface HistogramReading {
  /** Upper bounds, ascending, and how many observations are not above each. */
  buckets: readonly (readonly [bound: number, count: number])[]
  count: number
  sum: number
}

/** The text exposition format 0.0.4: HELP, TYPE, then the samples of each family. Families without samples are left out. */
export function prometheusText(families: readonly MetricFamily[]): string {
  return families.map(familyText).join('')
}

function familyText(family: MetricFamily): string {
  const { name, help, type } = family
  const lines =
    family.type === 'histogram'
      ? histogramLines(name, family.histogram)
      : family.samples.map((sample) => sampleLine(name, sample))
  if (lines.length === 0) return ''
  return [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
}

function histogramLines(name: string, { buckets, count, sum }: HistogramReading): string[] {
  const bounded = buckets.map(([bound, seen]) =>
    sampleLine(`${name}_bucket`, { labels: { le: numberText(bound) }, value: seen }),
  )
  const all = sampleLine(`${name}_bucket`, { labels: { le: '+Inf' }, value: count })
  return [...bounded, all, `${name}_sum ${numberText(sum)}`, `${name}_count ${count}`]
}

function sampleLine(name: string, { labels = {}, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(String(text))}"`)
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(value)}`
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  return String(value)
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}
