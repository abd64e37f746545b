export { ABORT_LIMIT as AT_ONCE, soonest } from '../src/testing/soonest.ts'
