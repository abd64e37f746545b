export { createYard, type Listening, type Yard } from './yard.ts'
export type { YardOptions } from './yard-options.ts'
export type { YardPool } from './yard-pool.ts'
export type { YardState } from './yard-state.ts'
export type { ConfigurationInput, ModelInput, ModelOptions } from './config/configuration-input.ts'
export type { YardConfiguration } from './config/yard-configuration.ts'
export { loadConfiguration, type LoadConfigurationOptions } from './config.ts'
export { ModelyardError, type ErrorCode } from './base/errors.ts'
export type { YardEvent, YardEvents } from './events/event-map.ts'
export type {
  CaptioningRequest,
  ChatRequest,
  ClassificationRequest,
  DetectionRequest,
  CompletionRequest,
  EmbeddedInput,
  EmbeddingRequest,
  ImageRequest,
  RerankRequest,
  SpeechRequest,
  TranscriptionRequest,
} from './runs/library-request.ts'
export type { Answer, TextStream } from './runs/text-stream.ts'
export type { HandledTool, ToolHandlerContext } from './runs/tool-handler.ts'
export type {
  Classification,
  DetectedObject,
  Detection,
  Embeddings,
  GeneratedImage,
  GeneratedImages,
  Label,
  Scores,
} from './runs/collect-values.ts'
export type { Transcript, TranscriptSegment } from './runs/collect-transcript.ts'
export type { SoundStream } from './runs/sound-stream.ts'
export type { Run, RunInfo, RunRequest } from './runs/run.ts'
export { contentText } from './tasks/message.ts'
export type { ContentPart, Message, Tool, ToolCall, ToolChoice } from './tasks/message.ts'
export type { FinishReason, Part, Result } from './tasks/part.ts'
export type { ImageBox } from './tasks/detection-task.ts'
export type { Task } from './tasks/task.ts'
export type { Usage } from './tasks/usage.ts'
export type { AcquireRequest, Lease } from './pool/lease.ts'
export type { LoadForecast } from './pool/forecast.ts'
export type { PoolStatus } from './pool/pool-status.ts'
export type { Priority } from './pool/limits.ts'
export { NO_CAPABILITIES } from './engines/engine.ts'
export { defineEngine } from './engines/custom/define-engine.ts'
export type {
  CustomBody,
  CustomEnd,
  CustomModel,
  CustomPart,
  CustomRun,
  EngineDefinition,
} from './engines/custom/engine-definition.ts'
export type { ChatQuestion, OtherModels } from './engines/custom/other-models.ts'
export type * from './engines/engine.ts'
export type { ModelFacts } from './models/model-facts.ts'
export type { ModelRecipe } from './models/model-recipe.ts'
export type { ModelSpec } from './models/model-spec.ts'
export type {
  ModelCollection,
  ModelDescription,
  ModelListing,
  PullOptions,
  PullProgress,
  ResidentModel,
} from './dialects/yard-port.ts'
