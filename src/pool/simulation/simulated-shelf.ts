import type { Fingerprint } from '../../tasks/fingerprint.ts'
import { transferTime } from '../policy/context-worth.ts'
import type { CommandOf, ParkOrder } from '../policy/messages.ts'
import type { Copy } from './copy.ts'
import type { MachineSurroundings } from './machine-surroundings.ts'

/** Milliseconds that writing a slot takes. */
const WRITING = 20
/** Milliseconds from a file's end until a kill of the server would not cost it. */
const SETTLING = 10
/** Milliseconds that reading one takes where sizes are not known. */
const READING = 5
/** Bytes of a simulated token on disk; what no plan says. */
const TOKEN_BYTES = 30

interface ShelvedFile {
  readonly content: Fingerprint
  /** Plan key of the copy that wrote it. */
  readonly identity: string
  readonly bytes: number
}

/** Milliseconds that so many tokens of the copy's take to be written; 20 where their size is not known. */
export function writingTime({ model: { bytesPerToken } }: Copy, tokens: number): number {
  return bytesPerToken === undefined ? WRITING : transferTime(tokens * bytesPerToken)
}

/** The simulated disk: files with what the slots really held, some of which spoil. */
export class SimulatedShelf {
  readonly files: Map<string, ShelvedFile> = new Map()
  /** What the policy should have prevented: reading what is not there, or is of another model. */
  readonly absurdities: string[] = []
  /** Nothing spoils. */
  isReliable = false
  /** Readings are not over before the run is. */
  isSlow = false
  readonly #around: MachineSurroundings
  readonly #spoiled = new Map<string, number>()

  constructor(around: MachineSurroundings) {
    this.#around = around
  }

  /** Takes up what the slot holds now; tells later, or that it failed. */
  park(copy: Copy, { context, slot, tokens }: ParkOrder): void {
    const content = copy.slots[slot]?.content
    const fails = content === undefined || this.#spoils()
    const bytes = tokens * (copy.model.bytesPerToken ?? TOKEN_BYTES)
    const took = writingTime(copy, tokens)
    if (!fails) this.files.set(context, { content, identity: copy.plan.key, bytes })
    this.#around.after(took, () => {
      if (fails) return this.#around.report({ type: 'park-failed', context, reason: 'the disk said no' })
      this.#around.report({ type: 'park-finished', context, bytes, took })
      this.#around.after(SETTLING, () => this.#around.report({ type: 'park-settled', context }))
    })
  }

  /** What the lease counts on, looked up while nobody else has been given the slot it comes from. */
  promisedBy(copy: Copy, { park = [], restore }: CommandOf<'grant-lease'>): Fingerprint | undefined {
    if (restore === undefined) return undefined
    const written = park.find(({ context }) => context === restore)
    const content =
      written === undefined ? this.files.get(restore)?.content : copy.slots[written.slot]?.content
    return content ?? []
  }

  /** What comes before a run: old content is written, other content read. */
  prepare(copy: Copy, { park = [], restore, lease, slot }: CommandOf<'grant-lease'>): void {
    for (const order of park) this.park(copy, order)
    const place = copy.slots[slot]
    if (restore === undefined || place === undefined) return
    const file = this.files.get(restore)
    const isJustWritten = park.some(({ context }) => context === restore)
    if (file === undefined && !isJustWritten) this.absurdities.push(`${restore} is read and not there`)
    if (file !== undefined && file.identity !== copy.plan.key)
      this.absurdities.push(`${restore} is read by ${copy.plan.key}`)
    const isRestored = file !== undefined && !this.#spoils()
    this.#noteSpoiled(restore, isRestored)
    // A slot whose restore fails is empty, and its run keeps nothing; here it holds what was hoped for, so that the grant can be judged.
    place.content = file?.content ?? []
    if (this.isSlow) return
    const { id: instance, model } = copy
    const bytes = model.bytesPerToken === undefined ? undefined : file?.bytes
    this.#around.report({
      type: 'restore-finished',
      context: restore,
      instance,
      slot,
      lease,
      isRestored,
      took: bytes === undefined ? READING : transferTime(bytes),
    })
  }

  /** What could not be read once is not tried again. */
  #noteSpoiled(context: string, isRestored: boolean): void {
    const since = this.#spoiled.get(context)
    if (since !== undefined && since < this.#around.now()) this.absurdities.push(`${context} is read again`)
    if (!isRestored && since === undefined) this.#spoiled.set(context, this.#around.now())
  }

  #spoils(): boolean {
    return !this.isReliable && this.#around.random() < 0.1
  }

  bytesOf(context: string): number {
    return this.files.get(context)?.bytes ?? 0
  }

  remove(context: string): void {
    this.files.delete(context)
  }

  /** Bytes on the simulated disk. */
  get bytes(): number {
    let sum = 0
    for (const { bytes } of this.files.values()) sum += bytes
    return sum
  }
}
