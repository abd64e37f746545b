/** One thing the doctor looked at. A warning hampers some uses; a problem stops the yard from working. */
export interface Check {
  name: string
  status: 'ok' | 'warning' | 'problem'
  found: string
  /** What to do about it; there for everything that is not ok. */
  remedy?: string
}
