import type { CommandContext, CommandResult } from '../command-context.ts'
import { DeviceWatch } from '../../host/device-watch.ts'
import { HostMemoryProbe } from '../../host/memory-probe.ts'
import { examineDevices, examineProcessor, type DeviceFindings } from '../doctor/device-checks.ts'
import { examineBudget, examinePressure } from '../doctor/pressure-checks.ts'
import { examineDatabase, examineModels, examineOnnxFolders, examineSources } from '../doctor/store-checks.ts'
import {
  examineEngine,
  examineLlamaServer,
  examineMlx,
  examineNode,
  examinePackagedEngine,
  examineSdServers,
} from '../doctor/software-checks.ts'
import { examineHome, examineMemory, examinePort } from '../doctor/machine-checks.ts'
import { examineConfiguration, examineServer } from '../doctor/yard-checks.ts'
import { examinePackageManagers } from '../doctor/package-manager-checks.ts'
import type { Check } from '../doctor/check.ts'
import { EXIT } from '../exit-codes.ts'
import type { Output } from '../output.ts'

export interface DoctorOptions {
  config?: string
  port?: number
  json?: boolean
}

/** `modelyard doctor`: looks at everything the yard stands on. Exit code 1 when something will not work. */
export async function doctor(context: CommandContext, options: DoctorOptions): CommandResult {
  const server = await examineServer(context)
  const configuration = await examineConfiguration(context, options.config)
  const devices = await findDevices(context)
  const probe = new HostMemoryProbe({ devices: { read: () => devices.reading } })
  const { models } = configuration.configuration ?? {}
  const onnx = configuration.configuration && (await examineOnnxFolders(configuration.configuration))
  const isNeeded = (name: string): boolean => models?.some(({ engine }) => engine === name) === true
  const checks: Check[] = [
    examineNode(),
    examineEngine(context.directories),
    await examineLlamaServer(context.directories, isNeeded('llama-server')),
    ...(isNeeded('mlx') ? [await examineMlx(context.directories)] : []),
    ...(await examineSdServers(models ?? [])),
    ...['transformers', 'speech']
      .filter((name) => isNeeded(name) || onnx?.engines.has(name) === true)
      .map((name) => examinePackagedEngine(context.directories, name)),
    examineProcessor(),
    examineMemory(probe),
    examinePressure(),
    examineDevices(devices, models),
    ...(configuration.configuration === undefined
      ? []
      : [examineBudget(configuration.configuration, probe.read())]),
    await examineHome(context.directories),
    await examineDatabase(context.directories),
    await examineModels(context.directories),
    ...(configuration.configuration === undefined ? [] : [await examineSources(configuration.configuration)]),
    ...(onnx === undefined || onnx.engines.size === 0 ? [] : [onnx.check]),
    { name: 'logs', status: 'ok', found: context.directories.logs },
    configuration.check,
    server.check,
    await examinePort(options.port ?? configuration.port, server.url),
    ...(await examinePackageManagers(context.signal)),
  ]
  if (options.json === true) await context.out.json(checks)
  else await context.out.line(checks.map((check) => describeCheck(check, context.out)).join('\n'))
  return checks.some(({ status }) => status === 'problem') ? EXIT.failure : EXIT.ok
}

async function findDevices({ clock }: CommandContext): Promise<DeviceFindings> {
  const watch = new DeviceWatch({ clock })
  await watch.refresh()
  return { reading: watch.read(), unreadable: watch.unreadable() }
}

function describeCheck({ name, status, found, remedy }: Check, { colors }: Output): string {
  const mark = {
    ok: colors.green('ok     '),
    information: 'note   ',
    warning: colors.yellow('warning'),
    problem: colors.red('problem'),
  }
  const line = `${mark[status]}  ${name.padEnd(13)}  ${found}`
  return remedy === undefined ? line : `${line}\n${' '.repeat(9)}→ ${remedy}`
}
