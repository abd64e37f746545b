import { createId } from '../../base/ids.ts'
import type { Tool } from '../../tasks/message.ts'
import type { Part } from '../../tasks/part.ts'
import type { ToolCallFormat } from '../tool-calls/tool-call-format.ts'
import type { CallSink } from './call-sink.ts'
import { Feed, type Reading } from './feed.ts'
import { readJsonCall, readKeyedCall } from './read-json-call.ts'
import { readLiteralCall } from './read-literal-call.ts'
import { readNamedCall } from './read-named-call.ts'
import { readTaggedCall } from './read-tagged-call.ts'
import type { ReasoningFormat } from './reasoning-format.ts'

export interface AnswerParserOptions {
  /** Absent = calls are text. */
  calls?: { format: ToolCallFormat; tools: readonly Tool[]; parallel: boolean }
  /** Absent = there is none. */
  reasoning?: ReasoningFormat
  /** The prompt ends inside the model's reasoning. */
  startsInReasoning: boolean
}

/** Ids shorter than this are numbers that begin anew with each answer. */
const LEAST_ID = 8

/**
 * Tells text, reasoning and calls of an answer from each other, as it comes in pieces of any size. Nothing is kept back but what may be
 * a marker, and a call's beginning until its name is known (at most `HEADER_LIMIT` units). What looks like a call and is none is text;
 * arguments that are no JSON are handed on as the model wrote them.
 */
export class AnswerParser {
  readonly #options: AnswerParserOptions
  readonly #feed = new Feed()
  readonly #reading: Reading
  #parts: Part[] = []
  #calls = 0
  #inReasoning: boolean
  #isDone = false
  /** Nothing but white space since the answer, or what was no text, began. */
  #isFresh = true
  #space = ''
  #hasArguments = false
  #isBare = false

  constructor(options: AnswerParserOptions) {
    this.#options = options
    this.#inReasoning = options.startsInReasoning && options.reasoning !== undefined
    this.#reading = this.#answer()
    this.#reading.next()
  }

  /** Calls that have begun. */
  get calls(): number {
    return this.#calls
  }

  get inReasoning(): boolean {
    return this.#inReasoning
  }

  /** The one call that was allowed is complete. */
  get isDone(): boolean {
    return this.#isDone
  }

  /** Whether this text of a control token is a marker, or part of one. */
  shows(text: string): boolean {
    return this.#markup().includes(text)
  }

  write(text: string): Part[] {
    if (text === '' || this.#isDone) return []
    this.#feed.write(text)
    this.#reading.next()
    return this.#taken()
  }

  /** The answer is over: what was kept back is shown. */
  end(): Part[] {
    this.#feed.end()
    if (!this.#isDone) this.#reading.next()
    return this.#taken()
  }

  #taken(): Part[] {
    const parts = this.#parts
    this.#parts = []
    return parts
  }

  #markup(): string {
    const { calls, reasoning } = this.#options
    const own = calls === undefined ? [] : Object.values(calls.format.shape).flat()
    const { begins = [], ends = [], silent = [], inner = [] } = calls?.format ?? {}
    const thinking = [reasoning?.begin, reasoning?.end, ...(reasoning?.silent ?? [])]
    return [...own, ...begins, ...ends, ...silent, ...inner, ...thinking]
      .filter((text) => typeof text === 'string')
      .join('\n')
  }

  *#answer(): Reading {
    if (this.#inReasoning) yield* this.#readReasoning()
    while (!this.#isDone) {
      const marker = yield* this.#readText()
      if (marker === undefined) return
      yield* this.#readMarked(marker)
    }
  }

  *#readMarked(marker: string): Reading {
    const { calls, reasoning } = this.#options
    if (marker === reasoning?.begin) {
      this.#feed.take(marker.length)
      this.#inReasoning = true
      yield* this.#readReasoning()
    } else if (calls?.format.begins.includes(marker) === true) yield* this.#readCalls(marker, calls.format)
    else if (marker === '{') yield* this.#readBareCall()
    else this.#feed.take(marker.length)
  }

  /** Shows text up to the next marker. @returns the marker, not taken; undefined at the end */
  *#readText(): Reading<string | undefined> {
    for (;;) {
      const markers = this.#markers()
      const { rest } = this.#feed
      const starts = markers.map((marker) => rest.indexOf(marker)).filter((start) => start >= 0)
      const isBare = this.#isFresh && this.#options.calls?.format.bare === true && /^\s*\{/.test(rest)
      if (isBare) {
        this.#say(this.#feed.take(rest.indexOf('{')))
        return '{'
      }
      const start = Math.min(...starts)
      if (starts.length > 0) {
        this.#say(this.#feed.take(start))
        // Fewer are markers after text than before it.
        const marker = yield* this.#feed.nextOf(this.#markers())
        if (marker !== undefined) return marker
        this.#say(this.#feed.take(1))
        continue
      }
      if (this.#feed.isEnded) {
        this.#say(this.#feed.take(rest.length))
        this.#sayLastSpace()
        return undefined
      }
      this.#say(this.#feed.take(rest.length - possibleBeginning(rest, markers)))
      yield
    }
  }

  #markers(): string[] {
    const { calls, reasoning } = this.#options
    const thinks = reasoning !== undefined && (this.#isFresh || reasoning.anywhere === true)
    const silent = [...(calls?.format.silent ?? []), ...(reasoning?.silent ?? [])]
    return [...(calls?.format.begins ?? []), ...silent, ...(thinks ? [reasoning.begin] : [])]
  }

  *#readReasoning(): Reading {
    const { end = '' } = this.#options.reasoning ?? {}
    let isFirst = true
    for (;;) {
      const { rest } = this.#feed
      const at = rest.indexOf(end)
      const isOver = at >= 0 || this.#feed.isEnded
      const length = at >= 0 ? at : rest.length - (this.#feed.isEnded ? 0 : possibleBeginning(rest, [end]))
      const whole = rest.slice(0, length)
      const shown = isOver ? whole.trimEnd() : whole.slice(0, whole.trimEnd().length)
      const text = isFirst ? shown.trimStart() : shown
      if (text !== '') isFirst = false
      this.#feed.take(isOver ? length : shown.length)
      if (text !== '') this.#add({ type: 'reasoning', text })
      if (isOver) break
      yield
    }
    this.#feed.take(end.length)
    this.#inReasoning = false
    this.#becomeFresh()
  }

  *#readCalls(marker: string, format: ToolCallFormat): Reading {
    this.#feed.record()
    this.#feed.take(marker.length)
    const isList = format.shape.body !== 'named' && format.shape.body !== 'tagged'
    const between = isList ? /[\s,[\]]/ : /\s/
    for (let count = 0; ; count++) {
      yield* this.#feed.skip(between)
      if (count > 0 && (yield* this.#feed.takeOf(format.ends))) break
      if (count > 0 && !(yield* this.#isAnother(format))) break
      if (!(yield* this.#readCall(format))) {
        this.#say(this.#feed.stopRecording())
        return
      }
      if (this.#isDone) return
      this.#feed.record()
    }
    this.#feed.stopRecording()
    this.#becomeFresh()
  }

  /** Whether another call follows within the same markers. */
  *#isAnother({ shape, ends }: ToolCallFormat): Reading<boolean> {
    if (shape.body === 'json' || shape.body === 'keyed-json') return (yield* this.#feed.peek()) === '{'
    if (shape.body === 'literal') return ends.length > 0 && /\w/.test(yield* this.#feed.peek())
    const { open = '' } = shape
    return open !== '' && (yield* this.#feed.nextOf([open])) !== undefined
  }

  *#readBareCall(): Reading {
    this.#feed.record()
    this.#isBare = true
    const isCall = yield* this.#finishCall(readJsonCall(this.#feed, this.#sink([])))
    this.#isBare = false
    const text = this.#feed.stopRecording()
    if (isCall) this.#becomeFresh()
    else this.#say(text)
  }

  *#readCall({ shape, ends }: ToolCallFormat): Reading<boolean> {
    const sink = this.#sink(ends)
    if (shape.body === 'json') return yield* this.#finishCall(readJsonCall(this.#feed, sink))
    if (shape.body === 'keyed-json') return yield* this.#finishCall(readKeyedCall(this.#feed, sink))
    if (shape.body === 'named') return yield* this.#finishCall(readNamedCall(this.#feed, shape, sink))
    if (shape.body === 'literal') return yield* this.#finishCall(readLiteralCall(this.#feed, shape, sink))
    // A call that was forced is written as JSON also where the model itself would use tags.
    yield* this.#feed.skip()
    if ((yield* this.#feed.peek()) === '{') return yield* this.#finishCall(readJsonCall(this.#feed, sink))
    return yield* this.#finishCall(readTaggedCall(this.#feed, shape, sink))
  }

  *#finishCall(reading: Reading<boolean>): Reading<boolean> {
    this.#hasArguments = false
    if (!(yield* reading)) return false
    if (!this.#hasArguments) this.#addArguments('{}')
    if (this.#options.calls?.parallel === false) this.#isDone = true
    return true
  }

  #sink(ends: readonly string[]): CallSink {
    return {
      ends,
      begin: (name, id) => this.#begin(name, id),
      arguments: (text) => this.#addArguments(text),
      schemaOf: (name, argument) => argumentSchema(this.#options.calls?.tools ?? [], name, argument),
    }
  }

  #begin(name: string, id: string | undefined): boolean {
    const { format, tools = [] } = this.#options.calls ?? {}
    const mustBeKnown = this.#isBare || format?.knownOnly === true
    if (name === '' || (mustBeKnown && !tools.some((tool) => tool.name === name))) return false
    const kept = id !== undefined && id.length >= LEAST_ID ? id : createId('call_')
    this.#feed.stopRecording()
    this.#parts.push({ type: 'tool-call', index: this.#calls++, id: kept, name })
    return true
  }

  #addArguments(text: string): void {
    if (text === '') return
    this.#hasArguments = true
    this.#add({ type: 'tool-call-arguments', index: this.#calls - 1, text })
  }

  #becomeFresh(): void {
    this.#isFresh = true
    this.#space = ''
  }

  /** White space before anything else is kept back: around calls and after reasoning it is no text. */
  #say(text: string): void {
    if (!this.#isFresh) {
      if (text !== '') this.#add({ type: 'text', text })
      return
    }
    this.#space += text
    if (this.#space.trim() === '') return
    const isFirst = this.#calls === 0 && this.#options.reasoning === undefined
    this.#add({ type: 'text', text: isFirst ? this.#space : this.#space.trimStart() })
    this.#isFresh = false
    this.#space = ''
  }

  #sayLastSpace(): void {
    if (this.#space !== '' && this.#calls === 0 && this.#options.reasoning === undefined)
      this.#add({ type: 'text', text: this.#space })
    this.#space = ''
  }

  #add(part: Part & { text: string }): void {
    const last = this.#parts.at(-1)
    const joins = last !== undefined && last.type === part.type && 'text' in last
    if (joins && indexOf(last) === indexOf(part)) last.text += part.text
    else this.#parts.push(part)
  }
}

function indexOf(part: Part): number {
  return part.type === 'tool-call-arguments' ? part.index : 0
}

/** Length of the longest end of `text` that one of the markers may begin with. */
function possibleBeginning(text: string, markers: readonly string[]): number {
  let longest = 0
  for (const marker of markers) {
    for (let length = Math.min(marker.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(marker.slice(0, length))) longest = length
    }
  }
  return longest
}

function argumentSchema(tools: readonly Tool[], name: string, argument: string): unknown {
  const properties = tools.find((tool) => tool.name === name)?.parameters['properties']
  if (typeof properties !== 'object' || properties === null) return undefined
  return (properties as Record<string, unknown>)[argument]
}
