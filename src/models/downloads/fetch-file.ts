import { dirname, extname } from 'node:path'
import { abortError } from '../../base/abort.ts'
import { readGgufHeader } from '../gguf/read-gguf-header.ts'
import { type ArtifactRecord, writeRecord } from './artifact-record.ts'
import { type Downloaded, downloadFile, makeFolder } from './download-file.ts'
import { writeError } from './disk-space.ts'
import { type FileLock, lockFile } from './file-lock.ts'
import type { HttpClient } from './http-client.ts'
import { type PartFile, readPartState, receivedBytes } from './part-file.ts'
import type { ProgressMeter } from './progress-meter.ts'
import { isSoundFile } from './sound-file.ts'
import type { TransferContext } from './transfer.ts'

/** A file that shall be at `target`. */
export interface WantedFile {
  target: string
  size?: number
  sha256?: string
}

/** How the bytes come; called with the file's lock held. */
export type Fetcher = () => Promise<void>

/**
 * Makes sure that a file is there, whole and right, fetching it once however many processes want it: the others wait and show how far
 * it is (S3). @throws ModelyardError as the fetcher does; `aborted`
 */
export async function ensureFile(
  wanted: WantedFile,
  context: TransferContext,
  meter: ProgressMeter,
  fetcher: Fetcher,
): Promise<void> {
  const { signal } = context
  const expected = { ...wanted, check: context.verify ? 'always' : 'touched' } as const
  if (await isSoundFile(wanted.target, expected, signal, meter)) return
  await makeFolder(dirname(wanted.target))
  const lock = await takeLock(wanted.target, context, meter)
  try {
    // The one we waited for has fetched it.
    if (!(await isSoundFile(wanted.target, expected, signal, meter))) await fetcher()
  } finally {
    lock.release()
  }
}

async function takeLock(
  target: string,
  { clock, signal, folder }: TransferContext,
  meter: ProgressMeter,
): Promise<FileLock> {
  try {
    return await lockFile(`${target}.lock`, {
      clock,
      signal,
      socketFolder: folder,
      onWait: async ({ pid }) => {
        const state = await readPartState(target)
        meter.update('waiting', receivedBytes(state?.ranges ?? []), state?.size ?? null, pid)
      },
    })
  } catch (error) {
    throw signal.aborted ? abortError(signal) : await writeError(dirname(target), error, 0)
  }
}

/** Fetches over HTTP and gives the file its name, with a record of where it came from. */
export async function fetchByHttp(
  wanted: WantedFile & { url: URL; facts?: Partial<ArtifactRecord> },
  context: TransferContext,
  meter: ProgressMeter,
  http: HttpClient,
): Promise<void> {
  const { clock, options, signal, answerWithin, admit } = context
  const { parts, parallelFrom, attempts, firstDelay } = options
  const tools = { http, clock, ...defined({ parts, parallelFrom, attempts, firstDelay }) }
  const request = { ...wanted, signal, meter, ...defined({ answerWithin, admit }) }
  await downloadFile(request, tools, async (part, downloaded) => {
    await checkContent(wanted, part)
    await publish(wanted, context, part, downloaded)
  })
}

/** Leaves out what is undefined. */
export function defined<Values extends object>(
  values: Values,
): { [Key in keyof Values]?: NonNullable<Values[Key]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Values]?: NonNullable<Values[Key]>
  }
}

/** Without a promised sum, at least the header must be that of a model: login pages come with status 200. */
async function checkContent({ sha256, target }: WantedFile, part: PartFile): Promise<void> {
  if (sha256 !== undefined || part.state.sha256 !== undefined || extname(target).toLowerCase() !== '.gguf')
    return
  try {
    await readGgufHeader(part.path)
  } catch (error) {
    await part.discard()
    throw error
  }
}

/** The record is written first: a file under its name always has one, and a record without its file says nothing. */
async function publish(
  { target, url, facts }: WantedFile & { url: URL; facts?: Partial<ArtifactRecord> },
  { source, clock }: TransferContext,
  part: PartFile,
  { sha256, validator }: Downloaded,
): Promise<void> {
  await writeRecord(target, part.path, {
    ...facts,
    sources: [source],
    url: url.origin + url.pathname,
    ...(validator === undefined ? {} : { etag: validator }),
    sha256,
    fetchedAt: clock.wallTime(),
  })
  await part.publish(target)
}
