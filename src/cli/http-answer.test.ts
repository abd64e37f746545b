import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { readAnswer } from './http-answer.ts'
import { listenTo, type ReadAnswer } from './answer-text.ts'

function response(pieces: string[], headers: Record<string, string> = {}): IncomingMessage {
  return Object.assign(Readable.from(pieces.map((piece) => Buffer.from(piece))), {
    headers,
  }) as unknown as IncomingMessage
}

function event(chunk: object): string {
  return `data: ${JSON.stringify(chunk)}\n\n`
}

function delta(content: object, finish: string | null = null): string {
  return event({ model: 'alias', choices: [{ index: 0, delta: content, finish_reason: finish }] })
}

const ASKED = { model: 'asked', signal: new AbortController().signal }

async function read(pieces: string[], headers: Record<string, string> = {}): Promise<ReadAnswer> {
  return await listenTo(readAnswer(response(pieces, headers), ASKED), { text: () => undefined })
}

const DONE = 'data: [DONE]\n\n'

describe('readAnswer', () => {
  it('puts text, reasoning, tool calls and counts together, however the bytes were cut', async () => {
    const stream = [
      ': waiting\n\n',
      delta({ role: 'assistant', content: '' }),
      delta({ reasoning_content: 'hm ' }),
      delta({ content: 'Grüße ' }),
      delta({ content: '😀' }),
      delta({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'weather', arguments: '' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '"Rom"}' } }] }),
      event({
        choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }],
        usage: null,
        timings: { queue_ms: 3.5, load_ms: 0, prompt_ms: 12, predicted_ms: 40 },
      }),
      event({
        choices: [],
        usage: {
          prompt_tokens: 9,
          completion_tokens: 4,
          prompt_tokens_details: { cached_tokens: 5 },
          completion_tokens_details: { reasoning_tokens: 1 },
        },
      }),
      DONE,
    ].join('')
    const bytes = Buffer.from(stream)
    const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, index) =>
      bytes.subarray(index * 7, index * 7 + 7),
    )
    const answer = await listenTo(
      readAnswer(
        Object.assign(Readable.from(pieces), {
          headers: { 'modelyard-model': 'tiny', 'modelyard-instance': 'tiny#1' },
        }) as unknown as IncomingMessage,
        ASKED,
      ),
      { text: () => undefined },
    )
    expect(answer).toEqual({
      text: 'Grüße 😀',
      reasoning: 'hm ',
      toolCalls: [{ name: 'weather', arguments: '{"city":"Rom"}' }],
      summary: {
        model: 'tiny',
        instance: 'tiny#1',
        queueMs: 3.5,
        loadMs: 0,
        timings: { prefill: 12, decode: 40 },
        finishReason: 'tool-calls',
        usage: { promptTokens: 9, cachedTokens: 5, completionTokens: 4, reasoningTokens: 1 },
      },
    })
  })

  it('a stream whose headers went out early tells at its end who answered', async () => {
    const usage = {
      prompt_tokens: 1,
      completion_tokens: 1,
      modelyard: { model: 'tiny', instance: 'tiny#2' },
    }
    const { summary } = await read([delta({ content: 'a' }, 'stop'), event({ choices: [], usage }), DONE])
    expect(summary).toMatchObject({ model: 'tiny', instance: 'tiny#2', usage: { cachedTokens: 0 } })
  })

  it('a stream without a finish reason and its terminator is broken, never complete (R12)', async () => {
    const broken = { cause: { message: expect.stringContaining('broke the answer off') as string } }
    await expect(read([delta({ content: 'half' })])).rejects.toMatchObject({ ...broken, text: 'half' })
    await expect(read([delta({ content: 'a' }, 'stop')])).rejects.toMatchObject(broken)
    await expect(read([delta({ content: 'a' }), DONE])).rejects.toMatchObject(broken)
  })

  it("an error event in the stream is thrown as the server's own error, and what came before is kept", async () => {
    const error = { error: { message: 'The worker died.', type: 'server_error', code: 'worker_exited' } }
    await expect(read([delta({ content: 'half' }), event(error), DONE])).rejects.toMatchObject({
      text: 'half',
      cause: { code: 'worker_exited', message: 'The worker died.' },
    })
  })
})
