import { abortable } from '../../base/abort.ts'
import { sleep, type Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import { imageFormatOf } from '../../tasks/image-format.ts'
import type { ServerConnection } from '../supervision/server-connection.ts'
import type { ImageSize } from './image-size.ts'
import type { JobBody } from './image-request.ts'

/** Milliseconds between two looks at a job: small beside what a picture takes. */
const INTERVAL = 100
/** Where width and height of a PNG file stand: after its sign and the head of its first chunk. */
const PNG_WIDTH = 16
const PNG_HEIGHT = 20

/** Source: examples/server/api.md of stable-diffusion.cpp, "Job Model". */
interface JobState {
  id: string
  status: 'queued' | 'generating' | 'completed' | 'failed' | 'cancelled'
  result?: { images?: { b64_json?: string }[] } | null
  error?: { message?: string } | null
}

export interface JobHost {
  connection: ServerConnection
  clock: Clock
  /** The last words of the program, for the error of a job that failed. */
  complaint: () => string | undefined
}

/** A picture that the server makes. It keeps the answer for ten minutes: nothing tells it that it was read. */
export class ImageJob {
  readonly #id: string
  readonly #host: JobHost

  private constructor(id: string, host: JobHost) {
    this.#id = id
    this.#host = host
  }

  /** Once the server has taken it. An abort is heard at once; what the server takes nevertheless is cancelled. */
  static async submit(body: JobBody, host: JobHost, signal: AbortSignal): Promise<ImageJob> {
    const submitted = host.connection.json('/sdcpp/v1/img_gen', body).then((answer) => {
      const { id } = answer as JobState
      if (typeof id === 'string' && id !== '') return new ImageJob(id, host)
      throw new ModelyardError('engine_failed', 'sd-server took a picture and gave it no number.')
    })
    try {
      return await abortable(submitted, signal)
    } catch (error) {
      void submitted.then(async (job) => await job.cancel()).catch(() => undefined)
      throw error
    }
  }

  /** The whole file, once it is there. @throws ModelyardError `engine_failed` with the program's own last words */
  async picture(size: ImageSize, signal: AbortSignal): Promise<Uint8Array> {
    const { connection, clock } = this.#host
    for (;;) {
      const job = (await connection.json(`/sdcpp/v1/jobs/${this.#id}`, undefined, signal)) as JobState
      if (job.status === 'completed') return pictureIn(job, size)
      if (job.status === 'failed' || job.status === 'cancelled') throw this.#failure(job)
      await sleep(clock, INTERVAL, signal)
    }
  }

  /**
   * Takes it out of the server's queue. One that is being made is made to its end by most builds (`cancel_generating`: false): the server
   * says 409, and whatever comes next waits in its queue.
   */
  async cancel(): Promise<void> {
    await this.#host.connection.json(`/sdcpp/v1/jobs/${this.#id}/cancel`, {}).catch(() => undefined)
  }

  #failure({ error, status }: JobState): ModelyardError {
    const complaint = this.#host.complaint()
    const words = error?.message ?? `the job was ${status}`
    const reason = complaint === undefined ? '' : ` Its log says: ${complaint}`
    return new ModelyardError('engine_failed', `sd-server made no picture: ${words}.${reason}`)
  }
}

/** What is not what was asked for is an error, never an answer. */
function pictureIn({ result }: JobState, { width, height }: ImageSize): Uint8Array {
  const data = Buffer.from(result?.images?.[0]?.b64_json ?? '', 'base64')
  if (imageFormatOf(data) !== 'png' || data.length < PNG_HEIGHT + 4)
    throw new ModelyardError('engine_failed', 'sd-server said that a picture is complete, and sent none.')
  const made = { width: data.readUInt32BE(PNG_WIDTH), height: data.readUInt32BE(PNG_HEIGHT) }
  if (made.width === width && made.height === height) return data
  const message = `sd-server made a picture of ${made.width}x${made.height} where ${width}x${height} was asked for.`
  throw new ModelyardError('engine_failed', message)
}
