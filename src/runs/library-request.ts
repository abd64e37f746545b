import type { AskingRun } from '../engines/engine.ts'
import type { Priority } from '../pool/limits.ts'
import type { OutputFormat } from '../tasks/chat-task.ts'
import type { Message, ToolChoice } from '../tasks/message.ts'
import type { Sampling } from '../tasks/sampling.ts'
import type { AudioFormat } from '../tasks/speech-task.ts'
import type { HandledTool } from './tool-handler.ts'

/** What every library call may carry. */
export interface CallOptions {
  /** Id or alias of the model. */
  model: string
  /** Ends the call; text calls end with what was produced and `finishReason: "abort"`. */
  signal?: AbortSignal
  /** Most time for the whole call: seconds, or a duration such as `"30s"`. */
  timeout?: number | string
  /** Default `normal`. */
  priority?: Priority
  /** How long the model stays in memory after this call: seconds or a duration; 0 = unload at once, −1 = for ever. */
  keepAlive?: number | string
  /** What an engine of one's own got with its run: it goes before all others and takes no place of its own (P14). */
  within?: AskingRun
  /** `none`: starts from nothing, and nothing of it is kept for later requests, in memory or on disk. */
  cache?: 'none'
  /** Tokens its slot holds at least: a copy with fewer goes when its runs have ended, and a larger one is loaded. */
  context?: number
}

/** Sampling and limits of text calls. Zero is a value: `temperature: 0` is greedy, `maxTokens: 0` generates nothing. */
export interface GenerationOptions extends Sampling {
  maxTokens?: number
  stop?: string | string[]
  topLogprobs?: number
}

export interface ChatRequest extends CallOptions, GenerationOptions {
  /** Oldest first. A last assistant message is continued. */
  messages: Message[]
  /** Tools with a `handler` are called, and their results told the model. */
  tools?: HandledTool[]
  /** Rounds of calls that handlers answer before calls are returned. Default 8; 0 = none. */
  maxToolRounds?: number
  toolChoice?: ToolChoice
  parallelToolCalls?: boolean
  format?: OutputFormat
  reasoning?: { enabled: boolean; budget?: number }
  templateOptions?: Record<string, unknown>
}

export interface CompletionRequest extends CallOptions, GenerationOptions {
  prompt: string | number[]
  suffix?: string
  echo?: boolean
}

/** A beginning to be evaluated ahead: of conversations (`messages`, `tools`), or of prompts. */
export interface WarmRequest extends Omit<CallOptions, 'cache'> {
  messages?: Message[]
  tools?: HandledTool[]
  prompt?: string
}

export interface RerankRequest extends CallOptions {
  query: string
  documents: string[]
}

/** A text, or the bytes of a whole image file (PNG, JPEG, WebP, GIF, AVIF or TIFF) for models that embed images. */
export type EmbeddedInput = string | Uint8Array | { text: string } | { image: Uint8Array }

export interface EmbeddingRequest extends CallOptions {
  /** One input or many; the answer has one vector for each, in order. */
  input: EmbeddedInput | EmbeddedInput[]
  dimensions?: number
}

export interface ClassificationRequest extends CallOptions {
  /** Texts, or bytes of whole image files (PNG, JPEG, WebP, GIF, AVIF or TIFF); one or many. */
  input: string | Uint8Array | (string | Uint8Array)[]
  /** Labels of your own (zero-shot): for texts and models that judge what follows from them, for images and CLIP. Default: those the model was trained for. */
  labels?: string[]
  /** With `labels`: the sentence they are judged in, with `{}` for the label. Default `This example is {}.`, of images `This is a photo of {}.` */
  hypothesis?: string
  /** With `labels`: several may be right. Default false: their scores sum to 1. */
  multiple?: boolean
}

export interface DetectionRequest extends CallOptions {
  /** Bytes of a whole image file: PNG, JPEG, WebP, GIF, AVIF or TIFF. */
  image: Uint8Array
  /** 0…1: only what is as likely as this. Default 0.5. */
  threshold?: number
}

export interface CaptioningRequest extends CallOptions {
  /** Bytes of a whole image file: PNG, JPEG, WebP, GIF, AVIF or TIFF. */
  image: Uint8Array
  /** Default: what the model's folder says, then as many as it can hold. 0 writes nothing. */
  maxTokens?: number
}

export interface TranscriptionRequest extends CallOptions {
  /** Bytes of a whole sound file: WAV, FLAC, MP3, OGG, WebM or M4A. */
  audio: Uint8Array
  /** Two letters; absent = the model judges it itself. */
  language?: string
  /** The text comes in English, whatever is spoken. */
  translate?: boolean
  /** Text that came before: names and words in it are preferred. */
  prompt?: string
  /** 0…1 */
  temperature?: number
}

export interface SpeechRequest extends CallOptions {
  text: string
  /** Default `wav`. */
  format?: AudioFormat
  /** Number or name of one of the model's speakers. */
  voice?: string
  /** 0.25…4; default 1 */
  speed?: number
}

export interface ImageRequest extends CallOptions {
  /** What is to be seen: at most 32,000 characters. */
  prompt: string
  /** What is not. */
  negativePrompt?: string
  /** `WIDTHxHEIGHT` in pixels; default: the model's own. */
  size?: string
  /** 1…10; default 1. They are made one after the other. */
  count?: number
  /** More take longer; default: the model's own. */
  steps?: number
  /** 32-bit unsigned: the same one makes the same picture again; default: another one each time. */
  seed?: number
  /** How strictly the text is followed, 0…100; default: the model's own. */
  guidance?: number
}
