import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { invalidFile } from '../gguf/invalid-file.ts'
import { metadataFields } from '../onnx/onnx-graph.ts'

/** Fields of a Piper voice's configuration that are looked at. */
interface PiperConfiguration {
  audio: { sample_rate: number }
  espeak: { voice: string }
  num_speakers?: number
  language?: { code?: string; name_english?: string }
  phoneme_id_map: Record<string, number[]>
}

/**
 * Makes the folder that sherpa-onnx reads of a Piper voice: `voice.onnx` gets the properties it looks for, `tokens.txt` is made of the
 * configuration `voice.onnx.json`. Done once; both files lie in the folder. @returns the files there are now
 * @throws ModelyardError `model_file_invalid`
 */
export async function preparePiper(folder: string): Promise<string[]> {
  const configuration = await readConfiguration(join(folder, 'voice.onnx.json'))
  const { audio, espeak, language, num_speakers: speakers = 1, phoneme_id_map: ids } = configuration
  const properties = metadataFields({
    model_type: 'vits',
    comment: 'piper',
    language: language?.name_english ?? 'English',
    voice: espeak.voice,
    has_espeak: '1',
    n_speakers: String(speakers),
    sample_rate: String(audio.sample_rate),
  })
  // Fields of a protobuf message may stand anywhere: those at the end belong to the model as if its maker had written them.
  await appendFile(join(folder, 'voice.onnx'), Buffer.concat(properties), { flush: true })
  const tokens = Object.entries(ids).map(([phoneme, [id]]) => `${phoneme} ${id}\n`)
  await writeFile(join(folder, 'tokens.txt'), tokens.join(''), { flush: true })
  return ['voice.onnx', 'voice.onnx.json', 'tokens.txt']
}

async function readConfiguration(path: string): Promise<PiperConfiguration> {
  const value = JSON.parse(await readFile(path, 'utf8')) as Partial<PiperConfiguration>
  const { audio, espeak, phoneme_id_map: ids } = value
  const isWhole = typeof audio?.sample_rate === 'number' && typeof espeak?.voice === 'string'
  if (!isWhole || ids === undefined) throw invalidFile(path, 'is no configuration of a Piper voice.')
  return value as PiperConfiguration
}
