import { ModelyardError } from '../../base/errors.ts'
import type { Clock } from '../../base/clock.ts'
import type { LoadedModel } from '../engine.ts'
import { HostedRun, type Send } from './hosted-run.ts'
import { plainError } from './plain-error.ts'
import type { Call, CallValue, ToWorker } from './protocol.ts'

type ModelMessage = Extract<ToWorker, { type: 'run' | 'credit' | 'call' | 'abort' | 'cores' }>

/** The worker's side of a loaded model: turns messages into its method calls and their outcomes into messages. */
export class HostedModel {
  readonly #model: LoadedModel
  readonly #send: Send
  readonly #clock: Clock
  readonly #runs = new Map<number, HostedRun>()
  readonly #calls = new Map<number, AbortController>()
  readonly #ending = new Set<Promise<void>>()

  constructor(model: LoadedModel, send: Send, clock: Clock) {
    this.#model = model
    this.#send = send
    this.#clock = clock
  }

  receive(message: ModelMessage): void {
    if (message.type === 'run') this.#track(this.#run(message))
    else if (message.type === 'call') this.#track(this.#call(message.id, message.call))
    else if (message.type === 'cores') this.#model.shareCores?.(message.isAlone)
    else if (message.type === 'credit') this.#runs.get(message.id)?.grant(message.parts)
    else {
      this.#runs.get(message.id)?.cancel()
      this.#calls.get(message.id)?.abort()
    }
  }

  answerPing(id: number): void {
    const { lastProgress } = this.#model
    const quiet = lastProgress === undefined ? {} : { quiet: this.#clock.now() - lastProgress }
    this.#send({ type: 'pong', id, ...quiet })
  }

  /** Cuts what runs, waits until it has ended, frees the model. */
  async unload(): Promise<void> {
    const cut = new ModelyardError('run_cut', 'The model was unloaded while this request ran.')
    for (const run of this.#runs.values()) run.cancel(cut)
    for (const call of this.#calls.values()) call.abort(cut)
    await Promise.all(this.#ending)
    await this.#model.unload()
  }

  #track(work: Promise<void>): void {
    this.#ending.add(work)
    void work.finally(() => this.#ending.delete(work))
  }

  async #run({ id, task, slot, keptPrefix }: ModelMessage & { type: 'run' }): Promise<void> {
    const run = new HostedRun(id, this.#send, this.#clock)
    this.#runs.set(id, run)
    await run.pump(() => this.#model.run(task, { slot, keptPrefix, signal: run.signal }))
    this.#runs.delete(id)
  }

  async #call(id: number, call: Call): Promise<void> {
    const abort = new AbortController()
    this.#calls.set(id, abort)
    try {
      this.#send({ type: 'returned', id, value: await this.#perform(call, abort.signal) })
    } catch (error) {
      this.#send({ type: 'failed', id, error: plainError(error, 'engine_failed') })
    } finally {
      this.#calls.delete(id)
    }
  }

  async #perform(call: Call, signal: AbortSignal): Promise<CallValue> {
    if (call.method === 'countTokens') return this.#model.countTokens(call.task, signal)
    if (call.method === 'memory') return this.#model.memory()
    if (call.method === 'saveSlot') return this.#save(call.slot, call.path)
    if (call.method === 'restoreSlot') return (await this.#model.restoreSlot?.(call.slot, call.path)) ?? false
    await this.#model.warmUp(signal)
    return null
  }

  /** What can wait on this side only is waited for. */
  async #save(slot: number, path: string): Promise<CallValue> {
    const saved = await this.#model.saveSlot?.(slot, path)
    if (saved === undefined) return null
    await saved.sealed
    return { tokens: saved.tokens, bytes: saved.bytes }
  }
}
