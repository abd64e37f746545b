import { findExecutable } from '../../host/executables.ts'
import { programVersion, type ProgramVersion } from '../supervision/program-version.ts'

const REMEDY =
  'Get stable-diffusion.cpp (a release, or compile it: the target sd-server), put sd-server on PATH, or name it in the option "binary".'

/** An sd-server that can be started. */
export interface FoundSdServer extends ProgramVersion {
  command: string
}

/** The program to start: the one that is named, else the one on PATH. */
export async function findSdServer(
  binary: string | undefined,
): Promise<FoundSdServer | { reason: string; remedy: string }> {
  const command = findExecutable(binary ?? 'sd-server')
  if (command === undefined) {
    const reason = binary === undefined ? 'There is no sd-server on PATH.' : `There is no program ${binary}.`
    return { reason, remedy: REMEDY }
  }
  const found = await programVersion(command)
  if (found !== undefined) return { command, ...found }
  const reason = `${command} does not say its version; it may be too old, or built for another processor.`
  return { reason, remedy: REMEDY }
}
