import { basename } from 'node:path'
import { ModelyardError } from '../../base/errors.ts'

/** A model file that must not reach an engine: the sentence names the file and says what is wrong with it (BR-23). */
export function invalidFile(
  path: string,
  problem: string,
  details: Record<string, unknown> = {},
): ModelyardError {
  return new ModelyardError('model_file_invalid', `The model file ${basename(path)} ${problem} (${path})`, {
    details: { path, ...details },
  })
}

/** A file that ends before what its own header promises. */
export function truncatedFile(path: string, expected: number, size: number): ModelyardError {
  return invalidFile(
    path,
    `is truncated/corrupt: expected ≥ ${expected} bytes, has ${size}. Download or copy it again.`,
    { expected, size },
  )
}
