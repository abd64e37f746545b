import { createHash } from 'node:crypto'
import { decodeBody } from '../decode-model.ts'
import type { DialectAction, DialectAnswer, DialectRequest } from '../dialect.ts'
import { optionalBoolean } from '../fields.ts'
import type { ModelDescription, PullProgress, YardPort } from '../yard-port.ts'
import { encodeErrorLine } from './encode-error.ts'
import { line, LINES } from './lines.ts'
import { collectionOf } from './list-models.ts'
import { decodeName } from './model-name.ts'
import { ProgressFeed } from './progress-feed.ts'

const SUCCESS: DialectAnswer = { contentType: 'application/json', body: '{"status":"success"}' }

/** `POST /api/pull` */
export function pullModel({ body }: DialectRequest): DialectAction {
  const fields = decodeBody(body)
  const name = decodeName(fields)
  optionalBoolean(fields, 'insecure')
  if (optionalBoolean(fields, 'stream') ?? true) {
    return {
      type: 'progress',
      contentType: LINES,
      pieces: (port, signal) => pull(port, name, signal),
      fail: encodeErrorLine,
    }
  }
  return {
    type: 'answer',
    answer: async (port, signal) => {
      await collectionOf(port).pull(name, { signal, onProgress: () => undefined })
      return SUCCESS
    },
  }
}

async function* pull(port: YardPort, name: string, signal: AbortSignal): AsyncGenerator<string, void> {
  const collection = collectionOf(port)
  const feed = new ProgressFeed<PullProgress>()
  const onProgress = (progress: PullProgress): void => feed.put(progress.file, progress)
  const pulling = collection.pull(name, { signal, onProgress }).finally(() => feed.end())
  // Whoever leaves early does not hear of it any more.
  pulling.catch(() => undefined)
  yield line({ status: 'pulling manifest' })
  for await (const progress of feed) yield progressLine(progress)
  yield presentLine(await pulling)
  yield line({ status: 'verifying sha256 digest' })
  yield line({ status: 'writing manifest' })
  yield line({ status: 'success' })
}

function progressLine(progress: PullProgress): string {
  const { stage, received, total } = progress
  if (stage === 'verifying') return line({ status: 'verifying sha256 digest' })
  const digest = digestOf(progress)
  const verb = stage === 'extracting' ? 'extracting' : 'pulling'
  return line({
    status: `${verb} ${digest.slice(0, 12)}`,
    digest: `sha256:${digest}`,
    ...(total === null ? {} : { total }),
    completed: received,
  })
}

/** Clients tell files apart by it. Where nobody promised a sum, that of the file's name serves as well. */
function digestOf({ sha256, file }: PullProgress): string {
  return sha256 ?? createHash('sha256').update(file).digest('hex')
}

/** All of it is here; for models that were here before this is the only line with numbers. */
function presentLine({ digest, bytes }: ModelDescription): string {
  return line({
    status: `pulling ${digest.slice(0, 12)}`,
    digest: `sha256:${digest}`,
    total: bytes,
    completed: bytes,
  })
}
