import { ModelyardError } from '../base/errors.ts'
import type { YardEvent } from '../events/event-map.ts'
import type { SettingStatus } from '../server/control-port.ts'
import { createYard, type Yard } from '../yard.ts'
import type { ContextListing } from '../pool/context-listing.ts'
import type { ContextsRequest, ModelDescription, ModelListing, WarmResult } from '../dialects/yard-port.ts'
import type { ServedList } from '../models/served-models.ts'
import type { WarmRequest } from '../runs/library-request.ts'
import type { ChatTask } from '../tasks/chat-task.ts'
import { commandConfiguration } from './command-configuration.ts'
import type { CommandContext, YardOptionsOfCommand, YardWishes } from './command-context.ts'
import { requireEnginesOf } from './engines/require-engine.ts'
import { requireLocalFiles } from './require-local-files.ts'
import { showDownloads } from './render/downloads.ts'
import type { YardState } from '../yard-state.ts'
import type {
  LoadCall,
  Answer,
  ImageWishes,
  Question,
  SpeechWishes,
  TranscriptionWishes,
  TranscriptText,
  YardClient,
} from './yard-client.ts'

/** A yard in this process, which ends with the command. @throws ModelyardError `home_in_use` */
export async function openLocalYard(
  context: CommandContext,
  options: YardOptionsOfCommand,
  { models = [], toRun = false }: YardWishes,
): Promise<YardClient> {
  const { configuration, idOf } = await commandConfiguration(context, {
    ...(options.config !== undefined && { config: options.config }),
    models,
  })
  const yard = await createYard({ configuration })
  try {
    const ids = [...idOf.values()]
    // Names and files that are nothing are told before any engine is installed for them.
    const found: ModelListing[] = []
    for (const id of ids) found.push(await yard.findModel(id))
    if (toRun) {
      await requireLocalFiles(configuration, ids)
      const needed = found.map((model) => ({ ...model, named: true }))
      await requireEnginesOf(context, configuration, needed, options)
    }
    return new LocalYardClient(context, yard, idOf)
  } catch (error) {
    await yard.stop()
    throw error
  }
}

class LocalYardClient implements YardClient {
  readonly server = undefined
  readonly #yard: Yard
  readonly #idOf: ReadonlyMap<string, string>
  readonly #stopShowing: () => Promise<void>

  constructor(context: CommandContext, yard: Yard, idOf: ReadonlyMap<string, string>) {
    this.#yard = yard
    this.#idOf = idOf
    this.#stopShowing = showDownloads(context, (listener) => yard.subscribe(listener))
  }

  async state(): Promise<YardState> {
    return this.#yard.state()
  }

  async list(): Promise<ModelListing[]> {
    await this.#yard.listModels()
    return this.#yard.state().models
  }

  async show(model: string): Promise<ModelDescription> {
    return await this.#yard.control.describeModel(this.#id(model))
  }

  async refreshModelLists(): Promise<ServedList[]> {
    return await this.#yard.control.refreshModelLists()
  }

  async plan(model: string): ReturnType<YardClient['plan']> {
    return await this.#yard.plan(this.#id(model))
  }

  async load(model: string, options: LoadCall): Promise<void> {
    await this.#yard.loadModel(this.#id(model), options)
  }

  async unload(model: string, options: { force?: boolean } = {}): Promise<void> {
    await this.#yard.unloadModel(this.#id(model), options)
  }

  async warm(request: WarmRequest): Promise<WarmResult> {
    return await this.#yard.warm({ ...request, model: this.#id(request.model) })
  }

  async contexts(): Promise<ContextListing[]> {
    return this.#yard.listContexts()
  }

  async removeContexts(request: ContextsRequest): Promise<number> {
    return this.#yard.removeContexts(request)
  }

  async settings(): Promise<SettingStatus[]> {
    return this.#yard.control.settings.list()
  }

  async changeSettings(changes: Readonly<Record<string, unknown>>): Promise<SettingStatus[]> {
    return await this.#yard.control.settings.change(changes)
  }

  async pin(model: string, pinned: boolean | 'soft'): Promise<void> {
    await this.#yard.control.pin(this.#id(model), pinned)
  }

  async why(name: string): ReturnType<YardClient['why']> {
    return await this.#yard.control.why(this.#id(name))
  }

  logs(): AsyncIterable<string> {
    throw noServer('no worker whose log could be read')
  }

  events(): AsyncIterable<YardEvent> {
    throw noServer('nothing that could happen')
  }

  async transcribe({ file: _, model, ...request }: TranscriptionWishes): Promise<TranscriptText> {
    const { text, segments } = await this.#yard.transcribe({ ...request, model: this.#id(model) })
    return { text, segments }
  }

  async speak({ model, ...request }: SpeechWishes): Promise<Uint8Array> {
    return await this.#yard.speak({ ...request, model: this.#id(model) }).bytes()
  }

  async draw({ model, ...request }: ImageWishes): Promise<Uint8Array> {
    const { images } = await this.#yard.generateImage({ ...request, model: this.#id(model) })
    return images[0]?.data ?? new Uint8Array()
  }

  async *ask(question: Question): Answer {
    const { info, parts } = this.#yard.startRun({
      model: this.#id(question.model),
      task: taskOf(question),
      signal: question.signal,
      priority: 'interactive',
    })
    const { finishReason, usage, timings } = yield* parts
    const { model, instance, queueMs, loadMs } = info
    return {
      model,
      ...(instance !== undefined && { instance }),
      finishReason,
      usage,
      timings,
      queueMs,
      loadMs,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stopShowing()
    await this.#yard.stop()
  }

  /** Names given on the command line may stand for models that were named after their files. */
  #id(name: string): string {
    return this.#idOf.get(name) ?? name
  }
}

function noServer(what: string): ModelyardError {
  return new ModelyardError(
    'invalid_request',
    `No server runs for this home, so there is ${what}. Start one: modelyard serve`,
  )
}

function taskOf({ messages, sampling, maxTokens }: Question): ChatTask {
  return { kind: 'chat', messages, sampling, stop: [], ...(maxTokens !== undefined && { maxTokens }) }
}
