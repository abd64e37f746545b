import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createDesk } from '../test-desk.ts'
import { speak } from './speak.ts'
import { transcribe } from './transcribe.ts'

describe('sound on the command line', () => {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sound-'))
    await writeFile(join(folder, 'talk.wav'), 'RIFF')
  })
  afterEach(() => rm(folder, { recursive: true }))

  const options = { model: 'whisper-tiny', format: 'text' }

  it('transcribe prints the text, or subtitles, or JSON', async () => {
    const desk = createDesk()
    const file = join(folder, 'talk.wav')
    await transcribe(desk.context, file, options)
    await transcribe(desk.context, file, { ...options, format: 'srt', translate: true })
    expect(desk.out()).toBe('Hello.\n1\n00:00:00,000 --> 00:00:01,500\nHello.\n\n')
    expect(desk.yard.calls.filter((call) => call.includes('talk'))).toEqual([
      'transcribe talk.wav',
      'translate talk.wav',
    ])
  })

  it('transcribe says which file cannot be read', async () => {
    const missing = transcribe(createDesk().context, join(folder, 'none.wav'), options)
    await expect(missing).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('speak writes a file in the format of its ending, and refuses others', async () => {
    const desk = createDesk()
    const output = join(folder, 'hello.mp3')
    await speak(desk.context, ['Hello', 'there.'], { model: 'piper-joe', output })
    expect(await readFile(output, 'utf8')).toBe('sound')
    expect(desk.yard.calls).toContain('speak Hello there. as mp3')
    const wrong = speak(desk.context, ['x'], { model: 'piper-joe', output: join(folder, 'x.txt') })
    await expect(wrong).rejects.toThrow('must end in one of .wav, .pcm, .mp3')
  })
})
