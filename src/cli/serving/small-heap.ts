import { setFlagsFromString } from 'node:v8'

/**
 * Percent by which the heap may outgrow what lives in it before it is collected. V8's own choice on a machine with much memory is 300: a server
 * under load held 90 MiB of which 24 lived. Collecting more often took no measurable time (`MemoryController::GrowingFactor` in V8's
 * `heap-controller.cc`; the flag is read at each collection, so it may be set late).
 */
const GROWTH = 50

/** What the server does not hold is left to models. Only for a process of ours: of the host of a library nothing is changed. */
export function keepHeapSmall(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH}`)
}
