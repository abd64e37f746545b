import { ModelyardError } from '../../base/errors.ts'

/** Characters; what is shorter stands for no key (`none`, `EMPTY`), and may be a part of any word. */
const SHORTEST_KEY = 8

/** What an endpoint says, without the key that it was sent: some say it back. */
export function concealKey(text: string, key: string | undefined): string {
  return key === undefined || key.length < SHORTEST_KEY ? text : text.replaceAll(key, '(our key)')
}

/** The same of an error and its details. */
export function concealKeyIn(error: unknown, key: string | undefined): unknown {
  if (!(error instanceof ModelyardError) || key === undefined) return error
  const told = JSON.stringify(error.toJSON())
  const safe = concealKey(told, JSON.stringify(key).slice(1, -1))
  return safe === told
    ? error
    : ModelyardError.fromJSON(JSON.parse(safe) as ReturnType<ModelyardError['toJSON']>)
}
