import { StopMatcher } from '../../templates/stop-matcher.ts'
import type { FinishReason, Part, Result } from '../../tasks/part.ts'
import type { Task } from '../../tasks/task.ts'
import { requireEnd, requirePart } from './custom-checks.ts'
import type { CustomEnd, CustomPart } from './engine-definition.ts'

/** What an engine of one's own writes, held to the task's limits: stop strings and most tokens. */
export class CustomAnswer {
  readonly #stops: StopMatcher
  readonly #room: number
  #completionTokens = 0
  #reasoningTokens = 0
  #called = false

  /** `room`: tokens left in the context. */
  constructor(task: Task, room: number) {
    const { stop = [], maxTokens = room } = 'stop' in task ? task : {}
    this.#stops = new StopMatcher(stop)
    this.#room = Math.min(room, maxTokens)
  }

  get ended(): boolean {
    return this.#stops.matched !== undefined || this.#full
  }

  /** The piece as far as it may be shown; undefined = nothing of it. */
  take(piece: CustomPart): Part | undefined {
    requirePart(piece)
    const part: Part = typeof piece === 'string' ? { type: 'text', text: piece } : piece
    if (part.type === 'tool-call') this.#called = true
    if (part.type !== 'text' && part.type !== 'reasoning') return part
    this.#completionTokens++
    if (part.type === 'reasoning') {
      this.#reasoningTokens++
      return part
    }
    const text = this.#stops.write(part.text)
    return text === '' ? undefined : { ...part, text }
  }

  /** What was held back, when the answer is over. */
  rest(): Part | undefined {
    const text = this.#stops.matched === undefined ? this.#stops.end() : ''
    return text === '' ? undefined : { type: 'text', text }
  }

  result(promptTokens: number, timings: Result['timings'], end: CustomEnd = {}): Result {
    requireEnd(end)
    const { completionTokens = this.#completionTokens, reasoningTokens = this.#reasoningTokens } = end
    const stopSequence = this.#stops.matched
    return {
      finishReason: this.#reason(end.finishReason),
      ...(stopSequence !== undefined && { stopSequence }),
      usage: { promptTokens, cachedTokens: 0, completionTokens, reasoningTokens },
      timings,
    }
  }

  #reason(said: FinishReason | undefined): FinishReason {
    if (this.#stops.matched !== undefined) return 'stop-sequence'
    if (this.#full) return 'length'
    return said ?? (this.#called ? 'tool-calls' : 'stop')
  }

  get #full(): boolean {
    return this.#completionTokens >= this.#room
  }
}
