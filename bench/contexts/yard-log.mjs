import { median, row } from '../statistics.mjs'

/** Facts that a Modelyard tells, as they come: how long it parked, loaded, restored. */
export class YardLog {
  #events = []
  #controller = new AbortController()

  static async of(url) {
    const log = new YardLog()
    const response = await fetch(`${url}/api/yard/events`, { signal: log.#controller.signal })
    void log.#read(response.body.pipeThrough(new TextDecoderStream()))
    return log
  }

  async #read(body) {
    let rest = ''
    try {
      for await (const chunk of body) {
        const blocks = (rest + chunk).split('\n\n')
        rest = blocks.pop()
        for (const block of blocks) this.#add(block)
      }
    } catch {
      // It was closed, or the server has gone.
    }
  }

  #add(block) {
    const line = (name) => block.split('\n').find((each) => each.startsWith(`${name}: `))
    const [event, data] = [line('event'), line('data')]
    if (event === undefined || data === undefined) return
    this.#events.push(JSON.parse(data.slice(6)))
  }

  /** All facts of one name. */
  all(name) {
    return this.#events.filter((event) => event.name === name).map(({ data }) => data)
  }

  close() {
    this.#controller.abort()
  }

  /** Rows: how long the parts of a swap took, and what a parked context takes. */
  tell() {
    const took = (name) => median(this.all(name).map((each) => each.took)).toFixed(0)
    const parts = `park ${took('context-parked')}, unload in all ${took('unload-finished')}, load ${took('load-finished')}, ready ${took('instance-ready')}, restore ${took('context-restored')}`
    row('   parts through Modelyard, ms', parts)
    const parked = this.all('context-parked')
    if (parked.length === 0) return
    const size = median(parked.map(({ bytes, tokens }) => bytes / tokens / 1000))
    const speed = (name, bytes) =>
      median(this.all(name).map(({ tokens, took: time }) => bytes(tokens) / 1000 / Math.max(1, time)))
    const [save, restore] = ['context-parked', 'context-restored'].map((name) =>
      speed(name, (tokens) => tokens * size * 1000).toFixed(0),
    )
    row('   MB per 1,000 tokens; saved, restored, MB/s', `${size.toFixed(1)}; ${save}, ${restore}`)
  }
}
