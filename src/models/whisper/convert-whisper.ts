import { createWriteStream } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '../../base/clock.ts'
import { ModelyardError } from '../../base/errors.ts'
import { readCTranslate2 } from './ctranslate2-file.ts'
import { Pace } from './packed-matrix.ts'
import {
  whisperConfiguration,
  type AddedTokens,
  type CTranslate2Configuration,
} from './whisper-configuration.ts'
import { decoderGraph, encoderGraph } from './whisper-graphs.ts'
import { WhisperWeights } from './whisper-weights.ts'

/** Files of Whisper as CTranslate2 has it. */
const SOURCES = ['model.bin', 'ctranslate2.json']

/**
 * Makes the folder that transformers.js reads of Whisper as CTranslate2 has it: `model.bin`, its configuration as `ctranslate2.json`
 * and `tokenizer.json` in the same folder. Weights become eight bits wide, in pieces between which others have their turn. @returns the files
 * there are now @throws ModelyardError `model_file_invalid`, the signal's reason
 */
export async function convertWhisper(folder: string, clock: Clock, signal: AbortSignal): Promise<string[]> {
  try {
    return await convert(folder, new Pace(clock, signal))
  } catch (cause) {
    if (cause instanceof ModelyardError || signal.aborted) throw cause
    const message = `Whisper in ${folder} could not be converted: ${(cause as Error).message}. Fetch it again.`
    throw new ModelyardError('model_file_invalid', message, { cause })
  }
}

async function convert(folder: string, pace: Pace): Promise<string[]> {
  const tensors = await readCTranslate2(join(folder, 'model.bin'), pace)
  const weights = await WhisperWeights.pack(tensors, pace)
  const source = await json<CTranslate2Configuration>(join(folder, 'ctranslate2.json'))
  const tokenizer = await json<AddedTokens>(join(folder, 'tokenizer.json'))
  await mkdir(join(folder, 'onnx'), { recursive: true })
  const graphs = {
    'onnx/encoder_model_quantized.onnx': encoderGraph,
    'onnx/decoder_model_merged_quantized.onnx': decoderGraph,
  }
  for (const [file, graph] of Object.entries(graphs)) {
    await pipeline(Readable.from(graph(weights)), createWriteStream(join(folder, file), { flush: true }))
  }
  const texts = whisperConfiguration(tensors, source, tokenizer)
  for (const [file, content] of Object.entries(texts)) {
    await writeFile(join(folder, file), JSON.stringify(content), { flush: true })
  }
  for (const file of SOURCES) await rm(join(folder, file), { force: true })
  return [...Object.keys(graphs), ...Object.keys(texts), 'tokenizer.json']
}

async function json<Content>(path: string): Promise<Content> {
  return JSON.parse(await readFile(path, 'utf8')) as Content
}
