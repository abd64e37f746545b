import type { EventBus } from '../events/event-bus.ts'
import type { YardEvent } from '../events/event-map.ts'

/** The latest events, shared by all who watch: nobody needs a queue of their own, so slow watchers cost nothing (BR-45). */
export class EventHistory {
  readonly #size: number
  readonly #events: YardEvent[] = []
  readonly #watchers = new Map<() => void, () => void>()

  constructor(bus: EventBus, size = 1024) {
    this.#size = size
    bus.subscribe((event) => this.#add(event))
  }

  #add(event: YardEvent): void {
    this.#events.push(event)
    if (this.#events.length > this.#size) this.#events.shift()
    for (const watcher of this.#watchers.keys()) watcher()
  }

  /** Id of the newest event; 0 before the first. */
  get lastId(): number {
    return this.#events.at(-1)?.id ?? 0
  }

  /** Events after the one with this id, and how many of them are lost already. An id from before a restart gets all there is. */
  since(id: number): { events: readonly YardEvent[]; lost: number } {
    const after = id > this.lastId ? 0 : id
    const oldest = this.#events[0]?.id ?? 1
    return {
      events: this.#events.slice(Math.max(0, after - oldest + 1)),
      lost: after === 0 ? 0 : Math.max(0, oldest - after - 1),
    }
  }

  /** @returns a function that takes the watcher off again; `onEnd` is called when it is let go first */
  watch(watcher: () => void, onEnd: () => void): () => void {
    this.#watchers.set(watcher, onEnd)
    return () => this.#watchers.delete(watcher)
  }

  /** Lets all watchers go; the history goes on as long as its bus. */
  endWatching(): void {
    for (const onEnd of this.#watchers.values()) onEnd()
    this.#watchers.clear()
  }
}
