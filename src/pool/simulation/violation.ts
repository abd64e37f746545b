/** A decision that breaks a rule. */
export class Violation extends Error {
  override readonly name = 'Violation'
  readonly rule: string

  constructor(rule: string, message: string) {
    super(`${rule}: ${message}`)
    this.rule = rule
  }
}

export function breach(rule: string, message: string): never {
  throw new Violation(rule, message)
}
