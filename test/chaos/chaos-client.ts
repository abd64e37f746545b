import { setTimeout as sleep } from 'node:timers/promises'
import type { SeededNumbers } from '../models/tiny-weights.ts'
import type { Api } from '../yard/harness.ts'
import { judge, LENGTH, marginAt, type Question } from './chaos-models.ts'
import { explainStuck, promisedWait } from './chaos-stuck.ts'

/** Milliseconds after which a request that has not ended is a hang: many times what anybody waits here, unless the machine is that slow. */
const HANG = 180_000

/** The server's `swap.patience`. */
export const PATIENCE = 1000

/** What a client may be told while workers are killed under it. Everything else fails the run. */
const EXCUSED = new Set(['worker_exited', 'model_load_failed', 'queue_full', 'request_crashes_worker'])

/** What all clients saw. */
export class ChaosReport {
  answers = 0
  aborted = 0
  nearTies = 0
  readonly errors: Record<string, number> = {}
  /** Each of these fails the run. */
  readonly faults: string[] = []

  note(question: Question, text: string, secrets: readonly string[]): void {
    this.answers++
    const leaked = secrets.find((secret) => secret !== question.secret && text.includes(secret))
    if (leaked !== undefined) this.faults.push(`"${question.secret}" was told "${leaked}": ${text}`)
    const verdict = judge(question, text)
    if (verdict === 'near-tie') this.nearTies++
    if (verdict === 'wrong')
      this.faults.push(
        `"${question.secret}" on ${question.model}: "${text}" instead of "${question.expected}" (${marginAt(question, text)} nats)`,
      )
  }

  noteError(code: string, message: string): void {
    this.errors[code] = (this.errors[code] ?? 0) + 1
    if (!EXCUSED.has(code)) this.faults.push(`${code}: ${message}`)
  }
}

/** One client: asks question after question until it is told to stop, streamed or in one piece, and leaves some of them in the middle. */
export class ChaosClient {
  readonly #api: Api
  readonly #questions: readonly Question[]
  readonly #secrets: readonly string[]
  readonly #random: SeededNumbers
  readonly #report: ChaosReport

  constructor(
    api: Api,
    questions: readonly Question[],
    { random, report }: { random: SeededNumbers; report: ChaosReport },
  ) {
    this.#api = api
    this.#questions = questions
    this.#secrets = [...new Set(questions.map(({ secret }) => secret))]
    this.#random = random
    this.#report = report
  }

  async work(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      const question = this.#questions[Math.floor(this.#random.next() * this.#questions.length)]
      if (question !== undefined) await this.#ask(question)
    }
  }

  async #ask(question: Question): Promise<void> {
    const leaving = new AbortController()
    const patience = this.#random.next() < 0.2 ? this.#random.next() * 2000 : undefined
    const hang = new AbortController()
    const ended = new AbortController()
    void this.#watch(question, hang, ended.signal)
    const timer = patience === undefined ? undefined : setTimeout(() => leaving.abort(), patience)
    try {
      const signal = AbortSignal.any([leaving.signal, hang.signal])
      await (this.#random.next() < 0.5
        ? this.#inOnePiece(question, signal)
        : this.#streamed(question, signal))
    } catch (error) {
      if (leaving.signal.aborted) this.#report.aborted++
      else if (!hang.signal.aborted)
        this.#report.faults.push(`a request to ${question.model} broke off: ${String(error)}`)
    } finally {
      clearTimeout(timer)
      ended.abort()
    }
  }

  /** While a request still waits the server can say for what; then its client leaves. */
  async #watch({ model }: Question, hang: AbortController, ended: AbortSignal): Promise<void> {
    const begun = performance.now()
    for (let limit = HANG; ;) {
      const waited = performance.now() - begun
      const isOver = await sleep(limit - waited, false, { signal: ended, ref: false }).catch(() => true)
      if (isOver) return
      const promised = await promisedWait(this.#api, PATIENCE).catch(() => 0)
      if (promised <= limit) break
      limit = promised
    }
    const why = await explainStuck(this.#api, model, HANG - 1000).catch(String)
    this.#report.faults.push(`a request to ${model} hung: ${why}`)
    hang.abort()
  }

  async #inOnePiece(question: Question, signal: AbortSignal): Promise<void> {
    const { text, body } = await this.#api.chat(question.messages as never, fields(question), signal)
    if (text !== undefined) return this.#report.note(question, text, this.#secrets)
    await this.#refused((body as { error: { code: string; message: string } }).error)
  }

  async #streamed(question: Question, signal: AbortSignal): Promise<void> {
    const stream = await this.#api.stream(question.messages as never, fields(question), signal)
    await stream.readAll()
    if (!stream.response.ok)
      return this.#refused(
        (JSON.parse(stream.received) as { error: { code: string; message: string } }).error,
      )
    const [error] = stream.errors
    if (stream.events.at(-1) !== '[DONE]')
      this.#report.faults.push(`a stream of ${question.model} has no end`)
    else if (error !== undefined) await this.#refused(error)
    else this.#report.note(question, stream.text, this.#secrets)
  }

  /** A client that is told to come again does so, a little later. */
  async #refused({ code, message }: { code: string; message: string }): Promise<void> {
    this.#report.noteError(code, message)
    await sleep(200 + this.#random.next() * 800)
  }
}

function fields({ model, isScripted }: Question): { model: string; max_tokens: number } {
  return { model, max_tokens: isScripted ? 200 : LENGTH }
}
