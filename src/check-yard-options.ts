import { ModelyardError } from './base/errors.ts'
import { isMap } from './base/is-map.ts'
import { kindOf } from './base/shape.ts'
import type { YardOptions } from './yard-options.ts'

/** What only code can give, checked before anything is opened; the rest is checked as a configuration. @throws ModelyardError `config_invalid` */
export function checkYardOptions(options: YardOptions): void {
  if (!isMap(options)) throw wrong(`createYard takes a map of options, not ${kindOf(options)}.`)
  const { home, engines, configuration, slowReader } = options
  if (home !== undefined && home !== false && (typeof home !== 'string' || home === ''))
    throw wrong(`createYard: home must be a path or false, not ${kindOf(home)}.`)
  if (engines !== undefined && !(Array.isArray(engines) && engines.every(isMap)))
    throw wrong(`createYard: engines must be a list of engines, not ${kindOf(engines)}.`)
  if (configuration !== undefined && !isMap(configuration))
    throw wrong(`createYard: configuration must be one that was loaded, not ${kindOf(configuration)}.`)
  if (slowReader !== undefined && !isMap(slowReader))
    throw wrong(`createYard: slowReader must be a map of options, not ${kindOf(slowReader)}.`)
}

function wrong(message: string): ModelyardError {
  return new ModelyardError('config_invalid', message)
}
