import { formatBytes } from '../../base/bytes.ts'
import { writeDuration } from '../../base/durations.ts'
import { isMap } from '../../base/is-map.ts'
import { settingUnit } from '../../config/setting-keys.ts'
import type { SettingStatus } from '../../server/control-port.ts'

type Shown = Pick<SettingStatus, 'key' | 'value' | 'effective'>

/**
 * A setting's value for people. What was written with a unit stays as it was written (`400MiB`, `75%`, `1h`); a bare number says nothing of
 * seconds or bytes, so what holds is shown instead: `5m`, `17.7 GiB of ram`. `–` = there is none.
 */
export function renderSettingValue({ key, value, effective }: Shown): string {
  const shown = value ?? effective
  if (shown === null || shown === undefined) return '–'
  const unit = settingUnit(key)
  if (unit !== undefined && !hasUnit(shown)) return renderMeasure(unit, effective) ?? asText(shown)
  return asText(shown)
}

function hasUnit(written: unknown): boolean {
  return typeof written === 'string' && /^\s*[\d.]+\s*[a-z%]/i.test(written)
}

/** Undefined for what is no number, nor a number for each domain of memory. */
function renderMeasure(unit: 'duration' | 'bytes', effective: unknown): string | undefined {
  if (unit === 'duration') return typeof effective === 'number' ? renderDuration(effective) : undefined
  if (typeof effective === 'number') return formatBytes(effective)
  if (!isMap(effective)) return undefined
  const domains = Object.entries(effective).filter(([, bytes]) => typeof bytes === 'number')
  const words = domains.map(([domain, bytes]) => `${formatBytes(bytes as number)} of ${domain}`)
  return words.length === 0 ? undefined : words.join(', ')
}

function renderDuration(milliseconds: number): string {
  return milliseconds < 0 ? 'never (-1)' : writeDuration(milliseconds)
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
