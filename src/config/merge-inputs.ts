import { isConfigurationMap } from '../base/is-map.ts'

/** Later inputs win; maps are merged name by name, everything else is replaced. A first value that is no map is left to the check. */
export function mergeInputs(first: unknown, ...others: readonly object[]): unknown {
  const start = first ?? {}
  return isConfigurationMap(start) ? others.reduce<unknown>(mergeTwo, start) : start
}

function mergeTwo(under: unknown, over: unknown): unknown {
  if (!isConfigurationMap(over) || !isConfigurationMap(under))
    return saysNothing(over) && under !== undefined && under !== null ? under : over
  const names = Object.keys(over).filter((name) => over[name] !== undefined)
  const merged = names.map((name): [string, unknown] => [name, mergeTwo(under[name], over[name])])
  return { ...under, ...Object.fromEntries(merged) }
}

/** An empty map adds nothing, and so hides nothing: what is no map under it stays for the check to refuse. */
function saysNothing(over: unknown): boolean {
  return isConfigurationMap(over) && Object.values(over).every((value) => value === undefined)
}
