import { array, nat, record, tuple, type Arbitrary } from 'fast-check'
import type { History } from './history.ts'

const small = nat(7)

/** Random histories for tests: up to four models, up to forty things that happen to them. */
export const HISTORIES: Arbitrary<History> = record({
  seed: nat(1000),
  limits: array(nat(3), { minLength: 13, maxLength: 13 }),
  models: array(array(nat(5), { minLength: 17, maxLength: 17 }), { minLength: 1, maxLength: 4 }),
  actions: array(tuple(nat(19), small, nat(3), small, small), { maxLength: 40, size: 'max' }),
})
