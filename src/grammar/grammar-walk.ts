import { contains } from './code-points.ts'
import type { GrammarMachine, State } from './grammar-machine.ts'

/** A place in the grammar: a state, and what comes after the rule that it is in. */
interface Position {
  state: number
  stack: number
}

const EMPTY_STACK = 0

/**
 * Reads one text by a grammar, character by character, on all ways at once as the engine does. An ambiguous grammar can have more
 * ways with each character; whoever walks looks at {@link ways}.
 */
export class GrammarWalk {
  readonly #machine: GrammarMachine
  /** Stacks are shared: each is a state on top of another stack. */
  readonly #stacks: Position[] = [{ state: 0, stack: EMPTY_STACK }]
  readonly #stackIds = new Map<number, number>()
  #positions: Position[] = []
  #mayEnd = false
  #visited = 0

  constructor(machine: GrammarMachine, rule: string = machine.root) {
    this.#machine = machine
    this.#settle([{ state: machine.entryOf(rule), stack: EMPTY_STACK }])
  }

  /** In how many ways the text so far can be meant. */
  get ways(): number {
    return this.#positions.length
  }

  /** Places that were looked at so far, also by trials: what the walk has cost. */
  get visited(): number {
    return this.#visited
  }

  /** Whether the text so far is a whole one. */
  get mayEnd(): boolean {
    return this.#mayEnd
  }

  /** Nothing may follow. */
  get mustEnd(): boolean {
    return this.#mayEnd && this.#positions.length === 0
  }

  /** A character of each way, at most so many. */
  nextCharacters(most: number): number[] {
    const found = new Set<number>()
    for (const { state } of this.#positions) {
      const first = this.#characterOf(state).ranges[0]?.[0]
      if (first !== undefined) found.add(first)
      if (found.size >= most) break
    }
    return [...found]
  }

  /** How many ways there would be after this character. */
  waysAfter(codePoint: number): number {
    const before = { positions: this.#positions, mayEnd: this.#mayEnd }
    this.step(codePoint)
    const { ways } = this
    this.#positions = before.positions
    this.#mayEnd = before.mayEnd
    return ways
  }

  /** Takes a text whole, or nothing of it. @returns whether it can come here */
  take(text: string): boolean {
    const before = { positions: this.#positions, mayEnd: this.#mayEnd }
    for (const character of text) {
      if (this.step(character.codePointAt(0) ?? 0)) continue
      this.#positions = before.positions
      this.#mayEnd = before.mayEnd
      return false
    }
    return true
  }

  /** @returns false when the character cannot come here */
  step(codePoint: number): boolean {
    const moved: Position[] = []
    for (const { state, stack } of this.#positions) {
      const { ranges, next } = this.#characterOf(state)
      if (contains(ranges, codePoint)) moved.push({ state: next, stack })
    }
    const found = moved.length > 0
    this.#settle(moved)
    return found
  }

  #characterOf(state: number): State & { kind: 'character' } {
    return this.#machine.states[state] as State & { kind: 'character' }
  }

  /** Goes on from the positions until each waits for a character. */
  #settle(waiting: Position[]): void {
    const seen = new Set<number>()
    this.#positions = []
    this.#mayEnd = false
    for (let position = waiting.pop(); position !== undefined; position = waiting.pop()) {
      const key = position.stack * this.#machine.states.length + position.state
      this.#visited++
      if (seen.has(key)) continue
      seen.add(key)
      for (const next of this.#onwards(position)) waiting.push(next)
    }
  }

  #onwards(position: Position): Position[] {
    const { state, stack } = position
    const here = this.#machine.states[state]
    switch (here?.kind) {
      case 'split':
        return here.to.map((to) => ({ state: to, stack }))
      case 'call':
        return [{ state: this.#machine.entryOf(here.rule), stack: this.#pushed(here.next, stack) }]
      case 'return':
        if (stack === EMPTY_STACK) this.#mayEnd = true
        return stack === EMPTY_STACK ? [] : [this.#stacks[stack] as Position]
      default:
        this.#positions.push(position)
        return []
    }
  }

  /** What only returns is not remembered, so that a list does not make the stack higher with each item. */
  #pushed(state: number, stack: number): number {
    if (this.#machine.isReturn(state)) return stack
    const key = stack * this.#machine.states.length + state
    const known = this.#stackIds.get(key)
    if (known !== undefined) return known
    const id = this.#stacks.push({ state, stack }) - 1
    this.#stackIds.set(key, id)
    return id
  }
}
