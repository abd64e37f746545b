import { readFileSync } from 'node:fs'
import { formatBytes } from '../../base/bytes.ts'
import type { HostReading } from '../../host/memory.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { Check } from './check.ts'

/** What is known of devices: what can be read of them, and why the others cannot. */
export interface DeviceFindings {
  reading: HostReading
  unreadable: readonly string[]
}

/** GPUs, and whether the models of the configuration ask for more than there is (R14). Without one everything runs on the CPU. */
export function examineDevices(
  { reading, unreadable }: DeviceFindings,
  models: readonly ModelSpec[] = [],
  platform: NodeJS.Platform = process.platform,
): Check {
  const name = 'gpu'
  const devices = Object.entries(reading).flatMap(([domain, there]) =>
    domain === 'ram' || there === undefined ? [] : [{ domain, ...there }],
  )
  const found = [
    ...devices.map(({ domain, total, available, source }) => {
      return `${domain}: ${formatBytes(available)} of ${formatBytes(total)} available (${source})`
    }),
    ...unreadable,
  ].join('; ')
  const demanding = models.filter(({ device }) => device.gpu !== false && device.gpu !== 'auto')
  if (demanding.length > 0 && devices.length === 0 && platform !== 'darwin') {
    const ids = demanding.map(({ id }) => `"${id}"`).join(', ')
    const remedy = `Set device.gpu to "auto" or false for ${ids}, or install the driver of the GPU.`
    return { name, status: 'problem', found: found === '' ? 'none, and models demand one' : found, remedy }
  }
  if (unreadable.length > 0) {
    const remedy = 'Memory that is unknown counts as none, so it is not used. Repair or update its driver.'
    return { name, status: 'warning', found, remedy }
  }
  if (platform === 'darwin') return { name, status: 'ok', found: 'shares the memory of this Mac' }
  return { name, status: 'ok', found: found === '' ? 'none that can be read; models run on the CPU' : found }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** Whether the processor has what makes llama.cpp fast. Only Linux tells without a program. */
export function examineProcessor(
  cpuinfo: string = readText('/proc/cpuinfo'),
  architecture: string = process.arch,
): Check {
  const name = 'processor'
  const model = /^model name\s*:\s*(.+)$/m.exec(cpuinfo)?.[1] ?? architecture
  const flags = /^flags\s*:\s*(.+)$/m.exec(cpuinfo)?.[1]?.split(' ')
  if (architecture !== 'x64' || flags === undefined || flags.includes('avx2')) {
    return { name, status: 'ok', found: model }
  }
  const remedy =
    'Models run several times slower without it. In a virtual machine, give the guest the processor of its host; otherwise choose small models.'
  return { name, status: 'warning', found: `${model}, without AVX2`, remedy }
}
