import type { Tool } from '../../tasks/message.ts'
import type { Part } from '../../tasks/part.ts'
import { possibleBeginning } from '../possible-beginning.ts'
import type { ToolCallFormat } from '../tool-calls/tool-call-format.ts'
import { AnswerMarks } from './answer-marks.ts'
import { AnswerVoice } from './answer-voice.ts'
import type { CallSink } from './call-sink.ts'
import { Feed, type Reading } from './feed.ts'
import { readCalls } from './read-calls.ts'
import { readJsonCall } from './read-json-call.ts'
import type { ReasoningFormat } from './reasoning-format.ts'

export interface AnswerParserOptions {
  /** Absent = calls are text. */
  calls?: { format: ToolCallFormat; tools: readonly Tool[]; parallel: boolean }
  /** Absent = there is none. */
  reasoning?: ReasoningFormat
  /** The prompt ends inside the model's reasoning. */
  startsInReasoning: boolean
}

/** A call without a marker begins like this. */
const BARE_CALL = '{'

/**
 * Tells text, reasoning and calls of an answer from each other, as it comes in pieces of any size. Nothing is kept back but what may be
 * a mark, and a call's beginning until its name is known (at most `HEADER_LIMIT` units). What looks like a call and is none is text;
 * arguments that are no JSON are handed on as the model wrote them.
 */
export class AnswerParser {
  readonly #options: AnswerParserOptions
  readonly #marks: AnswerMarks
  readonly #voice: AnswerVoice
  readonly #feed = new Feed()
  readonly #reading: Reading
  #inReasoning: boolean
  #isDone = false

  constructor(options: AnswerParserOptions) {
    const { calls, reasoning, startsInReasoning } = options
    this.#options = options
    this.#marks = new AnswerMarks(calls?.format, reasoning)
    this.#voice = new AnswerVoice(reasoning === undefined)
    this.#inReasoning = startsInReasoning && reasoning !== undefined
    this.#reading = this.#answer()
    this.#reading.next()
  }

  /** Calls that have begun. */
  get calls(): number {
    return this.#voice.calls
  }

  get inReasoning(): boolean {
    return this.#inReasoning
  }

  /** The one call that was allowed is complete. */
  get isDone(): boolean {
    return this.#isDone
  }

  /** Whether this text of a control token is to be written here: it is a mark, or part of one. */
  shows(text: string): boolean {
    return this.#marks.has(text)
  }

  write(text: string): Part[] {
    if (text === '' || this.#isDone) return []
    this.#feed.write(text)
    this.#reading.next()
    return this.#voice.take()
  }

  /** The answer is over: what was kept back is shown. */
  end(): Part[] {
    this.#feed.end()
    if (!this.#isDone) this.#reading.next()
    return this.#voice.take()
  }

  *#answer(): Reading {
    if (this.#inReasoning) yield* this.#readReasoning()
    while (!this.#isDone) {
      const mark = yield* this.#readText()
      if (mark === undefined) break
      yield* this.#readMarked(mark)
    }
    this.#voice.end()
  }

  /** Shows text up to the next mark. @returns the mark, not taken; undefined at the end */
  *#readText(): Reading<string | undefined> {
    for (;;) {
      const marks = this.#marks.at(this.#voice.isFresh)
      const { rest } = this.#feed
      if (this.#startsBare(rest)) {
        this.#voice.say(this.#feed.take(rest.indexOf(BARE_CALL)))
        return BARE_CALL
      }
      const starts = marks.map((mark) => rest.indexOf(mark)).filter((start) => start >= 0)
      if (starts.length > 0) {
        this.#voice.say(this.#feed.take(Math.min(...starts)))
        // Fewer are marks after text than before it.
        const mark = yield* this.#feed.nextOf(this.#marks.at(this.#voice.isFresh))
        if (mark !== undefined) return mark
        this.#voice.say(this.#feed.take(1))
        continue
      }
      const held = this.#feed.isEnded ? 0 : possibleBeginning(rest, marks)
      this.#voice.say(this.#feed.take(rest.length - held))
      if (this.#feed.isEnded) return undefined
      yield
    }
  }

  #startsBare(rest: string): boolean {
    return this.#options.calls?.format.bare === true && this.#voice.isFresh && /^\s*\{/.test(rest)
  }

  *#readMarked(mark: string): Reading {
    const { calls, reasoning } = this.#options
    if (mark === reasoning?.begin) {
      this.#feed.take(mark.length)
      this.#inReasoning = true
      yield* this.#readReasoning()
    } else if (calls !== undefined && calls.format.begins.includes(mark)) {
      this.#finishCalls(yield* readCalls(this.#feed, mark, calls.format, this.#sink(calls.format.ends)))
    } else if (mark === BARE_CALL) yield* this.#readBareCall()
    else this.#feed.take(mark.length)
  }

  *#readReasoning(): Reading {
    const { end = '' } = this.#options.reasoning ?? {}
    yield* this.#feed.skip()
    for (let isOver = false; !isOver;) {
      const { rest, isEnded } = this.#feed
      const at = rest.indexOf(end)
      isOver = at >= 0 || isEnded
      const length = at >= 0 ? at : rest.length - (isEnded ? 0 : possibleBeginning(rest, [end]))
      // White space before the end is no part of it, and what comes may be the end.
      const thought = rest.slice(0, length).trimEnd()
      this.#feed.take(isOver ? length : thought.length)
      this.#voice.think(thought)
      if (!isOver) yield
    }
    this.#feed.take(end.length)
    this.#inReasoning = false
    this.#voice.freshen()
  }

  *#readBareCall(): Reading {
    this.#feed.record()
    const sink = this.#sink([], true)
    const isCall = yield* readJsonCall(this.#feed, sink)
    if (isCall) sink.end()
    this.#finishCalls(isCall ? '' : this.#feed.stopRecording())
  }

  /** @param text what was no call after all */
  #finishCalls(text: string): void {
    if (text === '') this.#voice.freshen()
    else this.#voice.say(text)
  }

  #sink(ends: readonly string[], isBare = false): CallSink {
    const { format, tools = [], parallel = true } = this.#options.calls ?? {}
    const mustBeKnown = isBare || format?.knownOnly === true
    const isDone = (): boolean => this.#isDone
    return {
      ends,
      get isDone() {
        return isDone()
      },
      begin: (name, id) => {
        if (name === '' || (mustBeKnown && !tools.some((tool) => tool.name === name))) return false
        this.#feed.stopRecording()
        this.#voice.beginCall(name, id)
        return true
      },
      arguments: (text) => this.#voice.addArguments(text),
      end: () => {
        this.#voice.endCall()
        this.#isDone = !parallel
      },
      schemaOf: (name, argument) => argumentSchema(tools, name, argument),
    }
  }
}

function argumentSchema(tools: readonly Tool[], name: string, argument: string): unknown {
  const properties = tools.find((tool) => tool.name === name)?.parameters['properties']
  if (typeof properties !== 'object' || properties === null) return undefined
  return (properties as Record<string, unknown>)[argument]
}
