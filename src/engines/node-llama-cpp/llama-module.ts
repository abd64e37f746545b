/*
 * The part of node-llama-cpp 3.21 that is used here. Written down, not imported: the package is optional, and a build of Modelyard
 * must not need it.
 */

export interface LlamaModule {
  getLlama(options: LlamaOptions): Promise<Llama>
  TokenBias: new (tokenizer: unknown) => LlamaTokenBias
  /** Ends the process for some grammars; deprecated in favour of an asynchronous call that does the same. */
  LlamaGrammar: new (llama: Llama, options: { grammar: string }) => LlamaGrammar
  LlamaGrammarEvaluationState: new (
    from: LlamaGrammarState | { model: LlamaModel; grammar: LlamaGrammar },
  ) => LlamaGrammarState
}

export interface LlamaGrammar {
  readonly grammar: string
}

export interface LlamaGrammarState {
  /** The engine's own; there is no public way to move a state on. */
  readonly _state: unknown
}

export interface LlamaOptions {
  gpu: 'auto' | 'cuda' | 'vulkan' | 'metal' | false
  /** `never`: without a fitting binary the default would start a source build. */
  build: 'never'
  progressLogs: false
  maxThreads: number
  logger: (level: string, message: string) => void
}

export interface LlamaTokenBias {
  set(tokens: readonly number[], bias: { logit: number }): unknown
  readonly _biases?: Map<number, number>
}

export interface Llama {
  readonly gpu: string | false
  maxThreads: number
  loadModel(options: LlamaModelOptions): Promise<LlamaModel>
}

export interface LlamaModelOptions {
  modelPath: string
  gpuLayers?: number | 'auto' | 'max'
  useMmap: boolean
  useMlock: boolean
  checkTensors: boolean
  loadSignal: AbortSignal
  /** 0…1; not called for small models, and may end below 1. */
  onLoadProgress: (fraction: number) => void
}

export interface LlamaTokenAttributes {
  readonly control: boolean
  readonly unknown: boolean
}

export interface LlamaModel {
  readonly tokenizer: unknown
  readonly _llama: {
    _bindings: { AddonSampler: { acceptGrammarEvaluationStateToken(state: unknown, token: number): void } }
  }
  readonly vocabularyType: string
  readonly embeddingVectorSize: number
  readonly fileInfo: { metadata: { tokenizer?: { ggml?: { tokens?: string[]; token_type?: number[] } } } }
  readonly tokens: {
    readonly bos: number | null
    readonly eos: number | null
    readonly sep: number | null
    readonly bosString: string | null
    readonly eosString: string | null
    readonly shouldPrependBosToken: boolean
    readonly shouldAppendEosToken: boolean
    readonly infill: {
      readonly prefix: number | null
      readonly middle: number | null
      readonly suffix: number | null
    }
  }
  tokenize(text: string, specialTokens: boolean, options?: 'trimLeadingSpace'): number[]
  /** Ends the process for an id that is not in the vocabulary. */
  detokenize(tokens: readonly number[], specialTokens: boolean): string
  getTokenAttributes(token: number): LlamaTokenAttributes
  isEogToken(token: number): boolean
  createContext(options: LlamaContextOptions): Promise<LlamaContext>
  createEmbeddingContext(options: LlamaPooledContextOptions): Promise<LlamaEmbeddingContext>
  createRankingContext(options: LlamaPooledContextOptions): Promise<LlamaRankingContext>
  dispose(): Promise<void>
}

export interface LlamaContextOptions {
  /** Tokens of each sequence. */
  contextSize: number
  sequences: number
  /** What is used is at most the library's `maxThreads` at that moment. */
  threads: number | { ideal: number; min: number }
  batchSize: number
  flashAttention: boolean | 'auto'
  swaFullCache: boolean
  experimentalKvCacheKeyType: string
  experimentalKvCacheValueType: string
  failedCreationRemedy: false
  lora?: { adapters: { filePath: string; scale: number }[] }
  createSignal: AbortSignal
}

export interface LlamaContext {
  readonly contextSize: number
  getSequence(): LlamaSequence
  dispose(): Promise<void>
}

export interface LlamaPooledContextOptions {
  contextSize: number
  batchSize: number
  threads: number
  createSignal: AbortSignal
}

export interface LlamaEmbeddingContext {
  /** One at a time whoever asks; the vector is not normalised. Adds the tokens that begin and end a text where they are missing, to the list given. */
  getEmbeddingFor(tokens: number[]): Promise<{ readonly vector: readonly number[] }>
  dispose(): Promise<void>
}

export interface LlamaRankingContext {
  /** 0…1; one at a time whoever asks. @throws for a pair as long as the context */
  rank(query: string, document: string): Promise<number>
  /** Tokens of a pair, those included that stand around it. */
  calculateInputLength(query: string, document: string): number
  dispose(): Promise<void>
}

export interface LlamaStep {
  token: number
  /** Of all tokens, the likeliest first; only when asked for. */
  probabilities?: Map<number, number>
}

export type LlamaSteps = AsyncGenerator<LlamaStep, void, number | readonly number[] | undefined>

export interface LlamaEvaluateOptions {
  temperature: number
  topK: number
  topP: number
  minP: number
  seed: number
  repeatPenalty?: {
    punishTokens: () => readonly number[]
    maxPunishTokens: number
    penalty: number
    presencePenalty: number
    frequencyPenalty: number
  }
  tokenBias?: LlamaTokenBias | (() => LlamaTokenBias | undefined)
  /** Asked before each token; what it gives moves on with the token that the engine chooses. */
  grammarEvaluationState?: () => LlamaGrammarState | undefined
  /** Whether the token that ends a turn is handed out; otherwise the generator just ends. */
  yieldEogToken: boolean
}

/** A place for one context. Between two calls of `next` nothing runs. */
export interface LlamaSequence {
  readonly nextTokenIndex: number
  readonly needsCheckpoints: boolean
  compareContextTokens(tokens: readonly number[]): { firstDifferentIndex: number }
  getRestoreToPrefixIndexEvaluationSize(tokenIndex: number): number
  eraseContextTokenRanges(ranges: { start: number; end: number }[]): Promise<void>
  clearHistory(): Promise<void>
  takeCheckpoint(): Promise<void>
  /** Evaluates the tokens and generates one more with each step. What is passed to `next` is evaluated instead of the token generated last. */
  evaluateWithMetadata(
    tokens: readonly number[],
    metadata: { probabilities?: boolean },
    options: LlamaEvaluateOptions,
  ): LlamaSteps
  saveStateToFile(path: string): Promise<{ fileSize: number }>
  loadStateFromFile(path: string, acceptRisk: { acceptRisk: true }): Promise<void>
  dispose(): Promise<void>
}
