/** One thing the doctor looked at. What is absent and not needed is information; a warning hampers some uses; a problem stops the yard from working. */
export interface Check {
  name: string
  status: 'ok' | 'information' | 'warning' | 'problem'
  found: string
  /** What to do about it; there for everything that is not ok. */
  remedy?: string
}
