import type { ModelListing } from './yard-port.ts'

/** Whether a model belongs into a list from which programs choose: one whose file is missing could only be refused. */
export function canAnswer({ state }: Pick<ModelListing, 'state'>): boolean {
  return state !== 'missing'
}
