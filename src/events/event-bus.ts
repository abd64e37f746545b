import type { YardEvent, YardEventName, YardEvents } from './event-map.ts'

/** Hands events to subscribers in order, synchronously. A subscriber that throws or rejects harms nobody. */
export class EventBus {
  readonly #subscribers = new Set<(event: YardEvent) => void>()
  readonly #wallTime: () => number
  #lastId = 0

  constructor(wallTime: () => number) {
    this.#wallTime = wallTime
  }

  emit<Name extends YardEventName>(name: Name, data: YardEvents[Name]): void {
    const event = { name, id: ++this.#lastId, at: this.#wallTime(), data } as YardEvent
    for (const subscriber of this.#subscribers) {
      // A broken listener must not stop the pool; it finds out by its own missing output.
      try {
        // Plain JavaScript, and TypeScript's void, let an async function in: its rejection would end the process (F7).
        const returned: unknown = subscriber(event)
        if (returned instanceof Promise) returned.catch(() => undefined)
      } catch {}
    }
  }

  /** @returns a function that takes the subscriber off again */
  subscribe(subscriber: (event: YardEvent) => void): () => void {
    this.#subscribers.add(subscriber)
    return () => this.#subscribers.delete(subscriber)
  }
}
