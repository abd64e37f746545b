import { formatBytes } from '../../base/bytes.ts'
import type { Clock } from '../../base/clock.ts'
import { formatDuration } from '../../base/durations.ts'
import type { Output } from '../output.ts'

/** How far something long has come. `total` null = nobody knows. */
export interface ProgressStep {
  label: string
  received: number
  total: number | null
  bytesPerSecond: number
}

export interface ProgressView {
  update(step: ProgressStep): void
  /** Takes the bar away; harmless when there was none. */
  stop(): void
}

/** A bar where a person watches, plain lines (at most one a second) where a log file does. */
export async function createProgressView(err: Output, clock: Clock): Promise<ProgressView> {
  return err.isTerminal ? await createBar(err) : new ProgressLines(err, clock)
}

async function createBar(err: Output): Promise<ProgressView> {
  const { default: progress } = await import('cli-progress')
  const bar = new progress.SingleBar({
    stream: err.stream,
    format: `{label} {bar} {percentage}%  {detail}`,
    barsize: Math.max(10, Math.min(30, err.columns - 60)),
    hideCursor: true,
    clearOnComplete: true,
    stopOnComplete: false,
    gracefulExit: false,
    barCompleteChar: '█',
    barIncompleteChar: '░',
  })
  let started = false
  return {
    update(step) {
      const payload = { label: step.label, detail: describeStep(step) }
      const total = step.total ?? Math.max(step.received, 1)
      if (!started) bar.start(total, step.received, payload)
      started = true
      bar.setTotal(total)
      bar.update(step.received, payload)
    },
    stop: () => started && bar.stop(),
  }
}

/** Milliseconds between two plain lines. */
const LINE_INTERVAL = 1000

class ProgressLines implements ProgressView {
  readonly #err: Output
  readonly #clock: Clock
  #writtenAt = Number.NEGATIVE_INFINITY
  #label = ''
  #line = ''
  #isComplete = false

  constructor(err: Output, clock: Clock) {
    this.#err = err
    this.#clock = clock
  }

  update(step: ProgressStep): void {
    const isNew = step.label !== this.#label
    // What goes on after the last byte (a sum, a copy) changes nothing but the speed.
    const isComplete = step.received === step.total
    if (!isNew && isComplete && this.#isComplete) return
    if (!isNew && this.#clock.now() - this.#writtenAt < LINE_INTERVAL) return
    const percent =
      step.total === null ? '' : ` ${Math.floor((step.received / Math.max(step.total, 1)) * 100)}%`
    const line = `${step.label}${percent}  ${describeStep(step)}`
    // Nothing has moved: a log file need not be told again.
    if (line === this.#line) return
    this.#label = step.label
    this.#line = line
    this.#isComplete = isComplete
    this.#writtenAt = this.#clock.now()
    void this.#err.line(line)
  }

  stop(): void {
    this.#label = ''
  }
}

/** `12 MiB of 138 MiB, 4.2 MiB/s, 30 s left` */
export function describeStep({ received, total, bytesPerSecond }: ProgressStep): string {
  const amount = total === null ? formatBytes(received) : `${formatBytes(received)} of ${formatBytes(total)}`
  if (bytesPerSecond <= 0) return amount
  const speed = `${amount}, ${formatBytes(bytesPerSecond)}/s`
  if (total === null || received >= total) return speed
  return `${speed}, ${formatDuration(((total - received) / bytesPerSecond) * 1000)} left`
}
