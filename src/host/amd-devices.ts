import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Device } from './device-memory.ts'

function readNumber(path: string): number | undefined {
  try {
    const text = readFileSync(path, 'latin1').trim()
    return /^\d+$/.test(text) ? Number(text) : undefined
  } catch {
    return undefined
  }
}

function readName(directory: string): string {
  try {
    return readFileSync(join(directory, 'product_name'), 'latin1').trim() || 'an AMD GPU'
  } catch {
    return 'an AMD GPU'
  }
}

function cardsOf(root: string): string[] {
  try {
    return readdirSync(root)
      .filter((name) => /^card\d+$/.test(name))
      .toSorted((a, b) => Number(a.slice(4)) - Number(b.slice(4)))
  } catch {
    return []
  }
}

/**
 * AMD's devices in the order of their cards: `mem_info_vram_total` and `mem_info_vram_used` in bytes (Linux kernel documentation, "AMDGPU
 * driver information"), and how busy they are, `gpu_busy_percent`. Cards of other makers have no such file. `root` is `/sys/class/drm`.
 */
export function readAmdDevices(root: string = '/sys/class/drm'): Device[] {
  return cardsOf(root).flatMap((card) => {
    const directory = join(root, card, 'device')
    const total = readNumber(join(directory, 'mem_info_vram_total'))
    if (total === undefined || total === 0) return []
    const name = readName(directory)
    const used = readNumber(join(directory, 'mem_info_vram_used'))
    if (used === undefined) return [{ name, source: `${directory}/mem_info_vram_used cannot be read` }]
    const memory = { total, available: Math.max(0, total - used) }
    const percent = readNumber(join(directory, 'gpu_busy_percent'))
    const busy = percent === undefined ? {} : { busy: Math.min(1, percent / 100) }
    return [{ name, memory, source: `sysfs ${card}, ${name}`, ...busy }]
  })
}
