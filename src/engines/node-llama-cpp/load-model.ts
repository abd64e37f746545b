import { stat } from 'node:fs/promises'
import type { Clock } from '../../base/clock.ts'
import { devicesAmong } from '../../host/memory.ts'
import { weightsId } from '../../models/weights-id.ts'
import { ChatTemplate } from '../../templates/chat-template.ts'
import { loadFailed, type LoadedModel, type LoadOptions, type LoadPlan } from '../engine.ts'
import { GrammarShelf } from './answer-grammar.ts'
import { ContextGate } from './context-gate.ts'
import { EmbeddingWork } from './embedding-work.ts'
import type { LoadShape } from '../llama-cpp/footprint.ts'
import { gpuRefusal, isUnified, layersOnGpu } from '../llama-cpp/gpu-layers.ts'
import type { LlamaContext, LlamaModel } from './llama-module.ts'
import { claimThreads, type LlamaRuntime } from './llama-runtime.ts'
import { ModelLifetime } from '../in-process/model-lifetime.ts'
import { nodeLlamaCppOptions } from './node-llama-cpp-options.ts'
import { shapeOfPlan } from './node-llama-cpp-plan.ts'
import { QueuedModel, type WholeInputWork } from '../in-process/queued-model.ts'
import { hashOf } from '../planning.ts'
import { PrefillPace } from './prefill-pace.ts'
import { PromptThreads } from './prompt-threads.ts'
import { RankingWork } from './ranking-work.ts'
import { sampleAfterFirst } from './sample-after-first.ts'
import { Slot } from './slot.ts'
import { TextModel } from './text-model.ts'
import { Vocabulary } from './vocabulary.ts'

/** What is needed to load, and what to say of it. */
export interface LoadWith extends LoadOptions {
  runtime: LlamaRuntime
  /** Of the engine's package: a parked context is read by the same version only. */
  version: string
  clock: Clock
}

/** Loads weights, then makes the contexts. Nothing stays in memory when it fails. */
export async function loadModel(plan: LoadPlan, using: LoadWith): Promise<LoadedModel> {
  const { runtime, onProgress } = using
  requireGpu(plan, runtime)
  await requireFile(plan)
  const release = claimThreads(runtime.llama, plan.threads)
  let model: LlamaModel | undefined
  try {
    model = await loadWeights(plan, using)
    onProgress({ stage: 'preparing' })
    return plan.facts.purpose === 'generation'
      ? await prepareText(plan, model, release, using)
      : await preparePooled(plan, model, release, using)
  } catch (error) {
    await model?.dispose() // Its contexts go with it.
    release()
    throw error
  }
}

/** @throws model_load_failed when the spec demands a GPU and there is none */
function requireGpu(plan: LoadPlan, { llama }: LlamaRuntime): void {
  const refusal = gpuRefusal(plan, llama.gpu !== false)
  if (refusal !== undefined) throw loadFailed('bad_option', refusal)
}

/** @throws model_load_failed when the file is gone since it was inspected (BR-26) */
async function requireFile({ model, facts }: LoadPlan): Promise<void> {
  try {
    await stat(facts.path ?? '')
  } catch {
    throw loadFailed(
      'bad_file',
      `Model "${model}" cannot be loaded: its file is gone. (${facts.path ?? 'no path'})`,
    )
  }
}

async function loadWeights(plan: LoadPlan, { runtime, signal, onProgress }: LoadWith): Promise<LlamaModel> {
  const { spec, facts } = plan
  const options = nodeLlamaCppOptions(spec)
  onProgress({ stage: 'loading', fraction: 0 })
  return runtime.llama.loadModel({
    modelPath: facts.path ?? '',
    gpuLayers: gpuLayersOf(plan, shapeOfPlan(plan)),
    useMmap: options.memoryMap ?? true,
    useMlock: spec.device.memoryLock,
    checkTensors: options.checkTensors ?? false,
    loadSignal: signal,
    onLoadProgress: (fraction) => onProgress({ stage: 'loading', fraction }),
  })
}

/** A number where the plan has one; where memory is unified the engine decides, because the plan sees no device. */
function gpuLayersOf({ spec, facts, footprint }: LoadPlan, { gpuShare }: LoadShape): number | 'auto' {
  if (spec.device.gpu === false) return 0
  if (devicesAmong(footprint).length > 0 && facts.gguf !== undefined) return layersOnGpu(gpuShare, facts.gguf)
  return isUnified() ? (spec.device.gpuLayers ?? 'auto') : 0
}

async function prepareText(
  plan: LoadPlan,
  model: LlamaModel,
  release: () => void,
  { runtime, signal, version, clock }: LoadWith,
): Promise<LoadedModel> {
  const shape = shapeOfPlan(plan)
  const vocabulary = new Vocabulary(model)
  const template = templateOf(plan, vocabulary)
  const claim = (more: number): (() => void) => claimThreads(runtime.llama, more)
  const more = (plan.promptThreads ?? plan.threads) - plan.threads
  // A context never has more threads than the library allowed when it was made.
  const giveBack = claim(more)
  const context = await createContext(plan, model, shape, signal).finally(giveBack)
  sampleAfterFirst(context)
  const pace = new PrefillPace(shape)
  const gate = new ContextGate()
  const threads = new PromptThreads(claim, more)
  const slots = Array.from({ length: plan.slots }, () => new Slot({ context, pace, clock, gate, threads }))
  const lifetime = lifetimeOf(plan, runtime, clock)
  const stateIdentity = await stateIdentityOf(plan, shape, version)
  const { module } = runtime
  return new TextModel({
    plan,
    module,
    model,
    vocabulary,
    template,
    context,
    slots,
    threads,
    lifetime,
    grammars: new GrammarShelf(runtime, model),
    stateIdentity,
    release,
  })
}

async function createContext(
  { spec, contextSize, slots, threads, promptThreads }: LoadPlan,
  model: LlamaModel,
  { batchSize, flashAttention, kvCacheType }: LoadShape,
  createSignal: AbortSignal,
): Promise<LlamaContext> {
  const { fullWindow = true, lora } = nodeLlamaCppOptions(spec)
  const type = kvCacheType.toUpperCase()
  const adapters = lora?.map(({ path, scale = 1 }) => ({ filePath: path, scale }))
  return model.createContext({
    contextSize,
    sequences: slots,
    // What it has of them is what is claimed of the library's limit.
    threads: promptThreads === undefined ? threads : { ideal: promptThreads, min: 1 },
    batchSize,
    flashAttention,
    swaFullCache: fullWindow,
    experimentalKvCacheKeyType: type,
    experimentalKvCacheValueType: type,
    failedCreationRemedy: false,
    ...(adapters !== undefined && { lora: { adapters } }),
    createSignal,
  })
}

async function preparePooled(
  plan: LoadPlan,
  model: LlamaModel,
  release: () => void,
  { runtime, signal, clock }: LoadWith,
): Promise<LoadedModel> {
  const lifetime = lifetimeOf(plan, runtime, clock)
  const free = async (): Promise<void> => {
    await model.dispose()
    release()
  }
  return new QueuedModel({ plan, work: await pooledWork(plan, model, signal, free), lifetime })
}

async function pooledWork(
  plan: LoadPlan,
  model: LlamaModel,
  createSignal: AbortSignal,
  free: () => Promise<void>,
): Promise<WholeInputWork> {
  const { threads, facts } = plan
  const vocabulary = new Vocabulary(model)
  // The engine refuses texts as long as the context, so it gets room for one token more.
  const contextSize = plan.contextSize + 1
  const options = { contextSize, batchSize: contextSize, threads, createSignal }
  if (facts.purpose === 'rerank')
    return new RankingWork(plan, await model.createRankingContext(options), vocabulary, free)
  const context = await model.createEmbeddingContext(options)
  return new EmbeddingWork(plan, context, vocabulary, model.embeddingVectorSize, free)
}

function templateOf({ facts }: LoadPlan, vocabulary: Vocabulary): ChatTemplate {
  const { bosText, eosText, controlTexts, endTexts, userDefinedTexts } = vocabulary
  return new ChatTemplate({
    source: facts.gguf?.chatTemplate,
    bosToken: bosText,
    eosToken: eosText,
    controlTexts,
    endTexts,
    userDefinedTexts,
  })
}

function lifetimeOf({ model }: LoadPlan, { log }: LlamaRuntime, clock: Clock): ModelLifetime {
  const { mark } = log
  return new ModelLifetime(model, clock, () => log.since(mark))
}

/** All that must be the same for a parked context to mean the same (BR-51). Tokenizer and template are parts of the file. */
async function stateIdentityOf(
  { facts, slots, spec }: LoadPlan,
  shape: LoadShape,
  version: string,
): Promise<string> {
  const { lora = [], fullWindow = true } = nodeLlamaCppOptions(spec)
  const { kvCacheType, flashAttention } = shape
  const weights = facts.weightsId ?? facts.contentId
  const adapters = await weightsId(lora.map(({ path }) => path))
  const scales = lora.map(({ scale = 1 }) => scale)
  const parts = [version, weights, kvCacheType, flashAttention, fullWindow, slots, adapters, scales]
  return hashOf(parts)
}
