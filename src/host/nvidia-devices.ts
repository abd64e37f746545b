import type { CommandReader, Device } from './device-memory.ts'

const MIB = 1024 ** 2
const FORMAT = '--format=csv,noheader,nounits'
const DEVICES = ['--query-gpu=index,uuid,name,memory.total,memory.free,utilization.gpu', FORMAT]
const PROCESSES = ['--query-compute-apps=pid,gpu_uuid,used_gpu_memory', FORMAT]

function rowsOf(output: string): string[][] {
  return output
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.split(',').map((cell) => cell.trim()))
}

/** `24564` → bytes; undefined for `[N/A]`, `[Not Supported]` and all else that is no number. */
function bytesOf(cell: string | undefined): number | undefined {
  return cell !== undefined && /^\d+$/.test(cell) ? Number(cell) * MIB : undefined
}

/** `35` (percent) → 0.35; undefined as above. */
function shareOf(cell: string | undefined): number | undefined {
  return cell !== undefined && /^\d+$/.test(cell) ? Math.min(1, Number(cell) / 100) : undefined
}

function deviceOf([, , name = 'an NVIDIA GPU', total, free, utilization]: string[]): Device {
  const [all, available] = [bytesOf(total), bytesOf(free)]
  if (all === undefined || available === undefined || all === 0) {
    return { name, source: `nvidia-smi does not tell the memory of ${name}` }
  }
  const busy = shareOf(utilization)
  const memory = { total: all, available: Math.min(all, available) }
  return { name, memory, source: `nvidia-smi, ${name}`, ...(busy !== undefined && { busy }) }
}

/** Bytes by process, for each device's UUID. Processes in other containers have no number we know. */
function processesOf(output: string): Map<string, Map<number, number>> {
  const byDevice = new Map<string, Map<number, number>>()
  for (const [pid, uuid = '', used] of rowsOf(output)) {
    const bytes = bytesOf(used)
    if (bytes === undefined) continue
    const processes = byDevice.get(uuid) ?? new Map<number, number>()
    byDevice.set(uuid, processes.set(Number(pid), (processes.get(Number(pid)) ?? 0) + bytes))
  }
  return byDevice
}

/**
 * NVIDIA's devices in the order of their index, by `nvidia-smi` (fields: `nvidia-smi --help-query-gpu`; sizes in MiB). Without the
 * command there are none; a command that fails is one device that cannot be read.
 */
export async function readNvidiaDevices(read: CommandReader): Promise<Device[]> {
  const answer = await read('nvidia-smi', DEVICES)
  if (answer === null) return []
  if (answer.code !== 0) {
    const said = answer.output.trim().split('\n')[0] ?? ''
    const name = 'an NVIDIA GPU'
    return [{ name, source: `nvidia-smi failed (exit code ${answer.code})${said === '' ? '' : `: ${said}`}` }]
  }
  const rows = rowsOf(answer.output).toSorted((a, b) => Number(a[0]) - Number(b[0]))
  const used = await read('nvidia-smi', PROCESSES)
  const processes = used?.code === 0 ? processesOf(used.output) : undefined
  return rows.map((row) => ({
    ...deviceOf(row),
    ...(processes !== undefined && { processes: processes.get(row[1] ?? '') ?? new Map<number, number>() }),
  }))
}
