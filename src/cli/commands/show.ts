import { formatBytes } from '../../base/bytes.ts'
import type { ModelListing } from '../../dialects/yard-port.ts'
import { ModelInspector } from '../../models/inspect-model.ts'
import type { EndpointFacts, ModelFacts } from '../../models/model-facts.ts'
import type { CommandContext, CommandResult, YardOptionsOfCommand } from '../command-context.ts'
import { modelFiles } from '../model-files.ts'
import { renderFields } from '../render/table.ts'

/** What is known of a model: the yard's view, and its file's where there is one. */
interface ShownModel extends ModelListing {
  source: string | null
  /** Null when it has not been fetched. */
  path: string | null
  facts: ModelFacts | null
  endpoint?: EndpointFacts
}

/** `modelyard show MODEL` */
export async function show(
  context: CommandContext,
  model: string,
  options: YardOptionsOfCommand,
): CommandResult {
  await using yard = await context.openYard(options, { models: [model] })
  const shown = { ...(await yard.show(model)), ...(await fileOf(context, model, options)) }
  if (options.json === true) await context.out.json(shown)
  else await context.out.line(renderModel(shown))
}

/** Best effort: a server may know models that this command's configuration does not. */
async function fileOf(
  context: CommandContext,
  model: string,
  options: YardOptionsOfCommand,
): Promise<Pick<ShownModel, 'source' | 'path' | 'facts'>> {
  const files = await modelFiles(context, model, options).catch(() => undefined)
  if (files === undefined) return { source: null, path: null, facts: null }
  const path = (await files.artifacts.locate(files.source)) ?? null
  const facts = path === null ? null : await new ModelInspector().inspect(path).catch(() => null)
  return { source: files.source, path, facts }
}

function renderModel({
  id,
  name,
  favourite,
  aliases,
  state,
  sameFileAs,
  purpose,
  engine,
  contextLength,
  capabilities,
  source,
  path,
  facts,
  endpoint,
  problem,
}: ShownModel): string {
  return renderFields([
    ['model', id],
    ['name', name === id ? undefined : name],
    ['favourite', favourite ? 'yes' : undefined],
    ['also called', aliases.length === 0 ? undefined : aliases.join(', ')],
    ['state', state],
    ['same file as', sameFileAs],
    ['for', facts?.purpose ?? purpose ?? undefined],
    ['engine', engine],
    ['context', contextLength === null ? undefined : `${contextLength} tokens per slot`],
    ['source', source ?? undefined],
    ['file', path ?? (source === null || state === 'missing' ? undefined : 'not fetched yet')],
    ['size', facts === null ? undefined : formatBytes(facts.fileSize)],
    ...(facts === null ? [] : fileFields(facts)),
    ['can', capabilities === null ? undefined : namesOf(capabilities)],
    [
      'when aborted',
      capabilities?.finishesAborted === true ? 'what was begun is made to its end' : undefined,
    ],
    ...(endpoint === undefined ? [] : endpointFields(endpoint)),
    ['problem', problem],
  ])
}

function fileFields({ gguf, safetensors }: ModelFacts): [label: string, value: string | undefined][] {
  const text = gguf ?? safetensors
  if (text === undefined) return []
  return [
    ['architecture', gguf?.architecture ?? safetensors?.modelType],
    ['parameters', gguf === undefined ? undefined : `${(gguf.parameterCount / 1e6).toFixed(1)} million`],
    ['weights', gguf?.fileType ?? safetensors?.quantization],
    ['trained for', `${text.contextLength} tokens`],
    ['template', text.chatTemplate === undefined ? 'none' : 'yes'],
  ]
}

function endpointFields({
  url,
  abilities,
  counting,
  problem,
}: EndpointFacts): [label: string, value: string | undefined][] {
  const found = abilities.map(({ name, has, source }) => `${name} ${has ? 'yes' : 'no'} (${source})`)
  return [
    ['endpoint', url],
    ['found there', found.length === 0 ? 'nothing said; see capabilities' : found.join(', ')],
    ['tokens', counting === undefined ? 'not counted ahead' : 'counted there'],
    ['not asked', problem],
  ]
}

/** Capabilities that no request asks for: they tell how an engine does its work. */
const NOT_ASKED_FOR = new Set(['finishesAborted', 'tokenizes', 'namesStops', 'keepsPrefixes', 'parks'])

function namesOf(capabilities: NonNullable<ModelListing['capabilities']>): string {
  const shown = Object.entries(capabilities).filter(([name]) => !NOT_ASKED_FOR.has(name))
  return [...capabilities.tasks, ...shown.flatMap(([name, can]) => (can === true ? [name] : []))].join(', ')
}
