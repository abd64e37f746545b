import { accepts, chooseSlot, keptPrefix } from './affinity.ts'
import { awaitedBeginning } from './await-beginning.ts'
import { ledger } from './budget.ts'
import { askedLately, costOf } from './cost.ts'
import { chooseVictims, mayEvict, safeUntil, spareCopies } from './evict.ts'
import { makeContextSpace } from './context-budget.ts'
import { isWorthParking } from './context-worth.ts'
import { expiresAt } from './expiry.ts'
import { backoff } from './failure.ts'
import { classOf, isEntitled, isOwed, turnEndsAt } from './fairness.ts'
import {
  instanceExited,
  instanceMeasured,
  loadFailed,
  loadFinished,
  loadProgressed,
  memoryReturned,
  warmUpFailed,
  warmUpFinished,
} from './handle-loads.ts'
import {
  contextRoomMeasured,
  contextsFound,
  contextsUnwanted,
  parkFailed,
  parkFinished,
  parkSettled,
  restoreFinished,
} from './handle-contexts.ts'
import {
  hostMeasured,
  limitsChanged,
  modelDeclared,
  modelWithdrawn,
  stopRequested,
  unloadRequested,
} from './handle-orders.ts'
import { endsLease, leaseReleased, promptEvaluated, ticketAborted, ticketArrived } from './handle-tickets.ts'
import { shortage } from './host-room.ts'
import { impossible } from './impossible.ts'
import { fitsInstance } from './restore.ts'
import { mayAdd } from './seek-load.ts'
import type { PoolState } from './state.ts'
import type { Handlers, Rules } from './step.ts'
import { threadsFree } from './threads.ts'
import { fitsTogether } from './together.ts'
import { isWanted, walk } from './walk.ts'

/** P4: one count, raised by the grant itself (F2). */
function mayRun(state: PoolState): boolean {
  return state.runs < state.limits.concurrency
}

const HANDLERS: Handlers = {
  'model-declared': modelDeclared,
  'model-withdrawn': modelWithdrawn,
  'ticket-arrived': ticketArrived,
  'ticket-aborted': ticketAborted,
  'lease-released': leaseReleased,
  'prompt-evaluated': promptEvaluated,
  'load-progressed': loadProgressed,
  'load-finished': loadFinished,
  'load-failed': loadFailed,
  'warm-up-finished': warmUpFinished,
  'warm-up-failed': warmUpFailed,
  'instance-measured': instanceMeasured,
  'instance-exited': instanceExited,
  'memory-returned': memoryReturned,
  'unload-requested': unloadRequested,
  'host-measured': hostMeasured,
  'limits-changed': limitsChanged,
  'contexts-found': contextsFound,
  'context-room-measured': contextRoomMeasured,
  'park-finished': parkFinished,
  'park-failed': parkFailed,
  'park-settled': parkSettled,
  'restore-finished': restoreFinished,
  'contexts-unwanted': contextsUnwanted,
  'clock-ticked': () => undefined,
  'stop-requested': stopRequested,
}

/** The rules as they are. */
export const RULES: Rules = {
  handlers: HANDLERS,
  walk,
  classOf,
  accepts,
  chooseSlot,
  keptPrefix,
  awaitedBeginning,
  endsLease,
  mayRun,
  ledger,
  shortage,
  impossible,
  mayEvict,
  chooseVictims,
  costOf,
  safeUntil,
  askedLately,
  isOwed,
  turnEndsAt,
  isEntitled,
  isWanted,
  mayAdd,
  backoff,
  expiresAt,
  spareCopies,
  threadsFree,
  fitsTogether,
  isWorthParking,
  makeContextSpace,
  fitsInstance,
}
