import { ModelyardError } from '../../base/errors.ts'
import { checkSettingKey } from '../../config/setting-keys.ts'
import type { SettingStatus } from '../../server/control-port.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { renderSettingValue } from '../render/setting-value.ts'
import { renderTable } from '../render/table.ts'

/** `modelyard settings [get KEY]`: values and where they come from. */
export async function showSettings(
  context: CommandContext,
  key: string | undefined,
  options: YardOptionsOfCommand,
): CommandResult {
  if (key !== undefined) checkSettingKey(key)
  await using yard = await context.openYard(options)
  const all = await yard.settings()
  if (key === undefined) return await print(context, all, options)
  const wanted = all.find((setting) => setting.key === key)
  if (options.json === true) return await context.out.json(wanted ?? null)
  await context.out.line(wanted === undefined ? 'not set' : describeValue(wanted))
}

/** `modelyard settings set KEY VALUE…` */
export async function setSetting(
  context: CommandContext,
  key: string,
  values: readonly string[],
  options: YardOptionsOfCommand,
): CommandResult {
  const value = values.length > 1 ? values : valueOf(values[0] ?? '')
  await change(context, key, value, options)
}

/** `modelyard settings reset KEY`: as if it had never been set. */
export async function resetSetting(
  context: CommandContext,
  key: string,
  options: YardOptionsOfCommand,
): CommandResult {
  await change(context, key, null, options)
}

/** `modelyard pin MODEL`, `modelyard unpin MODEL`. */
export async function pin(
  context: CommandContext,
  model: string,
  pinned: boolean | 'soft',
  options: YardOptionsOfCommand,
): CommandResult {
  await using yard = await context.openYard(options)
  await yard.pin(model, pinned)
  if (options.json === true) return await context.out.json({ model, pinned })
  const words =
    pinned === false ? 'may be evicted again' : pinned === 'soft' ? 'is evicted last' : 'is never evicted'
  await context.out.line(`${model} ${words}.`)
}

async function change(
  context: CommandContext,
  key: string,
  value: unknown,
  options: YardOptionsOfCommand,
): Promise<void> {
  checkSettingKey(key)
  await using yard = await context.openYard(options)
  const all = await yard.changeSettings({ [key]: value })
  const now = all.find((setting) => setting.key === key)
  if (options.json === true) return await context.out.json(now ?? null)
  await context.out.line(`${key}: ${now === undefined ? 'not set any more' : describeValue(now)}`)
  if (now?.hidden !== undefined) {
    const words = now.origin === 'environment' ? 'the environment' : 'the command line of the server'
    await context.err.line(`It is stored, but ${words} says otherwise and wins.`)
  }
  if (now?.warning !== undefined) await context.err.line(`warning: ${now.warning}`)
}

/** JSON where it is JSON (numbers, true, maps), else text. @throws ModelyardError `invalid_request` for an empty one */
function valueOf(text: string): unknown {
  if (text.trim() === '')
    throw new ModelyardError(
      'invalid_request',
      'The value is empty; take a setting back with `modelyard settings reset KEY`.',
    )
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function print(
  { out }: CommandContext,
  settings: readonly SettingStatus[],
  { json }: YardOptionsOfCommand,
): Promise<void> {
  if (json === true) return await out.json(settings)
  const columns = [{ title: 'SETTING' }, { title: 'VALUE' }, { title: 'FROM' }, { title: 'WHAT IT IS' }]
  const rows = settings.map((setting) => [
    setting.key,
    renderSettingValue(setting),
    setting.origin,
    setting.description,
  ])
  await out.line(renderTable(columns, rows))
}

function describeValue(setting: SettingStatus): string {
  return `${renderSettingValue(setting)} (${setting.origin})`
}
