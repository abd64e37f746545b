/** Whether a value from outside (JSON, YAML, a caller) is a map of fields: an object, neither null nor a list. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A map of a configuration: YAML reads dates, too, which are no maps. */
export function isConfigurationMap(value: unknown): value is Record<string, unknown> {
  return isMap(value) && !(value instanceof Date)
}

/** The map that a text of JSON holds; undefined for any other text. */
export function parseMap(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return isMap(value) ? value : undefined
  } catch {
    return undefined
  }
}
