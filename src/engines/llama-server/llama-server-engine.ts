import { statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { SystemClock, type Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import { devicesAmong } from '../../host/memory.ts'
import { readGgufHeader } from '../../models/gguf/read-gguf-header.ts'
import { readVocabulary, type GgufVocabulary } from '../../models/gguf/read-vocabulary.ts'
import type { ModelFacts } from '../../models/model-facts.ts'
import type { ModelSpec } from '../../models/model-spec.ts'
import type { ChatTemplateOptions } from '../../templates/chat-template.ts'
import {
  loadAborted,
  loadFailed,
  type Availability,
  type Engine,
  type EngineCapabilities,
  type HostFacts,
  type LoadedModel,
  type LoadOptions,
  type LoadPlan,
} from '../engine.ts'
import { gpuRefusal } from '../llama-cpp/gpu-layers.ts'
import { endFailed } from '../supervision/launch-server.ts'
import type { ServerEngineOptions } from '../supervision/server-engine-options.ts'
import { unprepared } from '../supervision/unprepared.ts'
import { WORKER_DEADLINES } from '../supervision/worker-deadlines.ts'
import { batchSizeFor } from './batch-size.ts'
import { findServer, type FoundServer } from './find-server.ts'
import { llamaServerOptions } from './llama-server-options.ts'
import { LLAMA_SERVER_CAPABILITIES, planLlamaServer } from './llama-server-plan.ts'
import { RememberedSpeeds, speedKeyOf, type PrefillSpeeds } from './prefill-speeds.ts'
import { releaseFlagsFor } from './release-flags.ts'
import { SavedSlots } from './saved-slots.ts'
import { imageMarkOf, requireContext, requireSlots, type Props } from './server-props.ts'
import { refusedInOurWords } from './server-refusal.ts'
import { startServer, type StartedServer } from './start-server.ts'
import { stateIdentityOf } from './state-identity.ts'
import { isNotedText, Vocabulary } from './vocabulary.ts'
import { WorkerLife } from '../supervision/worker-life.ts'

export interface LlamaServerEngineOptions extends ServerEngineOptions {
  /** Folder of installed engines. */
  enginesDirectory?: string
  /** Where contexts pass through on their way to disk and back. Absent = the system's folder for what is temporary. */
  slotsDirectory?: string
  /** Cores that evaluating a prompt may take. Default: threads of the plan and one more. */
  cores?: () => number
  /** What earlier servers measured, and where this one keeps it. Default: until the process ends. */
  speeds?: PrefillSpeeds
}

/** Evaluated tokens from which on a prefill tells how fast prompts are. */
const TELLING = 24

/** A load under way. */
interface Loading {
  found: FoundServer
  started: StartedServer
  vocabulary: Promise<GgufVocabulary>
}

/**
 * llama.cpp's own server, one supervised process for each loaded model: the fastest way to run GGUF files, and the only one here for
 * images. Templates, tools, formats and stop strings are ours, as with every token-level engine; the server is sent text, tokens and
 * grammars, and its slots are chosen by the pool.
 */
export class LlamaServerEngine implements Engine {
  readonly name = 'llama-server'
  readonly capabilities: EngineCapabilities = LLAMA_SERVER_CAPABILITIES
  readonly #options: LlamaServerEngineOptions
  readonly #clock: Clock
  readonly #speeds: PrefillSpeeds

  constructor(options: LlamaServerEngineOptions = {}) {
    this.#options = options
    this.#clock = options.clock ?? new SystemClock()
    this.#speeds = options.speeds ?? new RememberedSpeeds()
  }

  async detect(spec?: ModelSpec): Promise<Availability> {
    const binary = spec && llamaServerOptions(spec).binary
    const found = await findServer({ binary, enginesDirectory: this.#options.enginesDirectory })
    if ('reason' in found) return { available: false, ...found }
    return { available: true, version: found.version, details: { command: found.command, from: found.from } }
  }

  plan(spec: ModelSpec, facts: ModelFacts, host: HostFacts): LoadPlan {
    const { mmproj, draft } = llamaServerOptions(spec)
    return planLlamaServer(spec, facts, host, {
      measuredSpeed: (key) => this.#speeds.speed(key),
      companions: { mmproj: fileSize(mmproj), draft: fileSize(draft?.path) },
    })
  }

  async load(plan: LoadPlan, options: LoadOptions): Promise<LoadedModel> {
    const { signal, onProgress } = options
    if (signal.aborted) throw loadAborted(signal)
    onProgress({ stage: 'starting' })
    const found = await this.#find(plan)
    if (signal.aborted) throw loadAborted(signal)
    const refusal = gpuRefusal(plan, true)
    if (refusal !== undefined) throw loadFailed('bad_option', refusal)
    const vocabulary = vocabularyOf(plan)
    const started = await this.#start(plan, found, options)
    try {
      onProgress({ stage: 'preparing' })
      return await this.#prepare(plan, { found, started, vocabulary }, signal)
    } catch (error) {
      await this.#giveUp(started)
      throw signal.aborted
        ? loadAborted(signal)
        : unprepared(
            `Model "${plan.model}" could not be loaded: its llama-server does not do as it should`,
            error,
          )
    }
  }

  async #find(plan: LoadPlan): Promise<FoundServer> {
    const { binary } = llamaServerOptions(plan.spec)
    const found = await findServer({ binary, enginesDirectory: this.#options.enginesDirectory })
    if ('reason' in found) throw new ModelyardError('engine_missing', `${found.reason} ${found.remedy}`)
    return found
  }

  async #start(plan: LoadPlan, found: FoundServer, options: LoadOptions): Promise<StartedServer> {
    const { recordsDirectory, logDirectory, slotsDirectory, cores } = this.#options
    const available = cores?.() ?? plan.threads + 1
    return await startServer(plan, {
      ...options,
      command: found.command,
      flags: await releaseFlagsFor(plan, found),
      cores: available,
      batchSize: this.#batchSize(plan, available),
      clock: this.#clock,
      recordsDirectory,
      logDirectory,
      slotsDirectory,
    })
  }

  #batchSize(plan: LoadPlan, cores: number): number {
    const { spec, facts, footprint, contextSize } = plan
    const measuredSpeed = this.#speeds.speed(speedKeyOf(plan))
    const wanted = llamaServerOptions(spec).batchSize
    const onGpu = devicesAmong(footprint).length > 0
    if (wanted !== undefined || facts.gguf === undefined) return wanted ?? contextSize
    return Math.min(contextSize, batchSizeFor(facts.gguf, { cores, onGpu, measuredSpeed }))
  }

  async #prepare(plan: LoadPlan, loading: Loading, signal: AbortSignal): Promise<LoadedModel> {
    const { child, connection } = loading.started
    // Templates, tools and forms are not needed before a model is loaded.
    const [props, noted, { ChatTemplate }, { LlamaServerModel }] = await Promise.all([
      connection.json('/props', undefined, signal) as Promise<Props>,
      loading.vocabulary,
      import('../../templates/chat-template.ts'),
      import('./llama-server-model.ts'),
    ])
    requireSlots(plan, props)
    requireContext(plan, props)
    const { tokenizer } = plan.facts.gguf ?? {}
    const vocabulary = await Vocabulary.open(noted, connection, {
      addsBos: tokenizer?.addBos === true,
      bosText: tokenizer?.bosToken,
    })
    const template = new ChatTemplate(templateOptions(plan, vocabulary))
    const life = this.#lifeOf(plan, loading.started)
    const speedKey = speedKeyOf(plan)
    const host = {
      plan,
      connection,
      vocabulary,
      template,
      imageMark: imageMarkOf(plan, props),
      clock: this.#clock,
      moved: () => life.moved(),
      evaluated: (tokens: number, took: number) => this.#notePrefill(speedKey, tokens, took),
    }
    return new LlamaServerModel(plan, {
      child,
      life,
      host,
      slots: await savedSlotsOf(plan, loading, props),
      deviceBytes: this.#options.deviceBytes ?? (() => ({})),
      isSpeedKnown: this.#speeds.speed(speedKey) !== undefined,
    })
  }

  #lifeOf(plan: LoadPlan, { child, connection, slotFolder }: StartedServer): WorkerLife {
    return new WorkerLife({
      engine: this.name,
      model: plan.model,
      child,
      connection,
      clock: this.#clock,
      deadlines: { ...WORKER_DEADLINES, ...this.#options.deadlines },
      refused: (refusal) => refusedInOurWords(refusal, plan),
      onGone: async () => await rm(slotFolder, { recursive: true, force: true }),
    })
  }

  /** The most that was seen counts: a machine that is busy with other things is so for a while only. */
  #notePrefill(speedKey: string, tokens: number, took: number): void {
    if (tokens < TELLING || took <= 0) return
    const speed = (tokens * 1000) / took
    if (speed > (this.#speeds.speed(speedKey) ?? 0)) this.#speeds.noteSpeed(speedKey, speed)
  }

  async #giveUp({ child, connection, slotFolder }: StartedServer): Promise<void> {
    await endFailed(child, connection)
    await rm(slotFolder, { recursive: true, force: true })
  }
}

function templateOptions({ facts }: LoadPlan, vocabulary: Vocabulary): ChatTemplateOptions {
  const { chatTemplate, tokenizer } = facts.gguf ?? {}
  const { controlTexts, endTexts, userDefinedTexts } = vocabulary
  return {
    source: chatTemplate,
    bosToken: tokenizer?.bosToken,
    eosToken: tokenizer?.eosToken,
    controlTexts,
    endTexts,
    userDefinedTexts,
  }
}

/** Where slots are saved; undefined: what they hold is not saved. */
async function savedSlotsOf(
  plan: LoadPlan,
  { found, started: { slotFolder, connection } }: Loading,
  props: Props,
): Promise<SavedSlots | undefined> {
  const { mmproj } = llamaServerOptions(plan.spec)
  if (plan.facts.purpose !== 'generation' || mmproj !== undefined) return undefined
  const identity = await stateIdentityOf(plan, `${found.build}:${props.build_info ?? ''}`)
  return new SavedSlots(identity, slotFolder, connection)
}

/** Read while the server loads the same file. What is wrong with it is told when it is asked for. */
function vocabularyOf({ facts: { path = '' } }: LoadPlan): Promise<GgufVocabulary> {
  const reading = readGgufHeader(path).then(async (header) => await readVocabulary(header, isNotedText))
  reading.catch(() => undefined)
  return reading
}

/** What is missing tells the load. */
function fileSize(path: string | undefined): number {
  return path === undefined ? 0 : (statSync(path, { throwIfNoEntry: false })?.size ?? 0)
}
