import { ModelyardError } from '../../base/errors.ts'

/** @throws ModelyardError `invalid_request` for ids that are not in a vocabulary of so many tokens: llama.cpp would end the process */
export function requireTokenIds(ids: readonly number[], size: number, param: string): void {
  const wrong = ids.find((id) => !Number.isInteger(id) || id < 0 || id >= size)
  if (wrong === undefined) return
  const message = `Token id ${wrong} is not one of this model, whose ids go from 0 to ${size - 1}; send text, or ids of this model's tokenizer.`
  throw new ModelyardError('invalid_request', message, { details: { param } })
}
