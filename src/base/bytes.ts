import { ModelyardError } from './errors.ts'

const UNITS: Record<string, number> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
  t: 1024 ** 4,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  tib: 1024 ** 4,
}

/** Bytes from a number or from `"6GiB"`, `"512 MB"`, `"1.5g"` (one-letter units are binary). @throws config_invalid */
export function parseBytes(value: number | string): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return Math.floor(value)
  const match = typeof value === 'string' ? /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(value) : null
  const factor = match === null ? undefined : UNITS[(match[2] || 'b').toLowerCase()]
  if (match === null || factor === undefined) {
    throw new ModelyardError('config_invalid', `"${value}" is not a size; write bytes or for example "6GiB".`)
  }
  return Math.floor(Number(match[1]) * factor)
}

/** Bytes for people: `1.5 GiB`, `12 MiB`, `0 B`. */
export function formatBytes(bytes: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let size = bytes
  let unit = 0
  while (Math.abs(size) >= 1024 && unit < names.length - 1) {
    size /= 1024
    unit++
  }
  const digits = unit === 0 || Math.abs(size) >= 100 ? 0 : 1
  return `${Number(size.toFixed(digits))} ${names[unit]}`
}
