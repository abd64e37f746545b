import assert from 'node:assert/strict'
import type { ChatTask } from '../../tasks/chat-task.ts'
import type { Task, TaskKind } from '../../tasks/task.ts'
import { CONTEXT, failure, type ContractBench } from '../contract-bench.ts'
import type { ContractCheck } from '../contract-check.ts'

function askedOf(content: string): ChatTask {
  return { kind: 'chat', messages: [{ role: 'user', content }], sampling: { temperature: 0 }, stop: [] }
}

const TASKS: Record<TaskKind, Task> = {
  chat: askedOf('hi'),
  completion: { kind: 'completion', prompt: 'hi', sampling: {}, stop: [] },
  embedding: { kind: 'embedding', inputs: ['hi'] },
  rerank: { kind: 'rerank', query: 'hi', documents: ['ho'] },
  transcription: { kind: 'transcription', audio: new Uint8Array([0]) },
  speech: { kind: 'speech', text: 'hi', format: 'wav' },
  classification: { kind: 'classification', inputs: ['hi'] },
  detection: { kind: 'detection', image: new Uint8Array([0]) },
  captioning: { kind: 'captioning', image: new Uint8Array([0]) },
  image: { kind: 'image', prompt: 'hi', width: 64, height: 64, count: 1 },
}

async function tokensOf(bench: ContractBench, content: string): Promise<number> {
  return await (await bench.shared()).countTokens(askedOf(content))
}

export const answerCases: readonly ContractCheck[] = [
  {
    name: 'yields started first and once, then the answer, then a result',
    async check(bench) {
      const { task, answer } = bench.chat(0)
      const { parts, text, result } = await bench.run(await bench.shared(), task)
      assert.equal(parts[0]?.type, 'started')
      assert.equal(parts.filter((part) => part.type === 'started').length, 1)
      assert.equal(text, answer)
      assert.equal(result.finishReason, 'stop')
      assert.equal(result.stopSequence, undefined)
    },
  },
  {
    name: 'counts exactly: started, result and countTokens agree',
    unless: 'tokenizes',
    async check(bench) {
      const model = await bench.shared()
      const { task } = bench.chat(1)
      const { parts, result } = await bench.run(model, task)
      const [started] = parts
      assert(started?.type === 'started')
      assert.equal(started.promptTokens, await model.countTokens(task))
      assert.equal(result.usage.promptTokens, started.promptTokens)
      assert.equal(result.usage.cachedTokens, started.cachedTokens)
      assert(result.usage.completionTokens > 0)
      assert(result.usage.reasoningTokens <= result.usage.completionTokens)
      assert(result.timings.prefill >= 0 && result.timings.decode >= 0)
    },
  },
  {
    name: 'refuses a kind of task that its plan does not name, before the first part',
    async check(bench) {
      const { tasks } = (await bench.plan()).capabilities
      const kind = (Object.keys(TASKS) as TaskKind[]).find((name) => !tasks.includes(name))
      assert(kind !== undefined, 'the plan names every kind of task: list this case as a gap')
      const model = await bench.shared()
      await failure(bench.start(model, TASKS[kind]).next(), 'unsupported')
      await bench.assertUsable(model)
    },
  },
  {
    name: 'refuses a prompt that does not fit with both numbers, before the first part',
    unless: 'tokenizes',
    async check(bench) {
      const model = await bench.shared()
      const task = bench.subject.longPrompt(CONTEXT + 1)
      const error = await failure(bench.start(model, task).next(), 'context_length_exceeded')
      assert.equal(error.details['promptTokens'], await model.countTokens(task))
      assert.equal(error.details['contextSize'], model.plan.contextSize)
      await bench.assertUsable(model)
    },
  },
  {
    name: 'ends before a stop string that lies across tokens, and names it',
    unless: 'namesStops',
    async check(bench) {
      const { task, answer } = bench.chat(0)
      const stop = answer.slice(3, 9)
      const { text, result } = await bench.run(await bench.shared(), { ...task, stop: ['never said', stop] })
      assert.equal(text, answer.slice(0, answer.indexOf(stop)))
      assert.equal(result.finishReason, 'stop-sequence')
      assert.equal(result.stopSequence, stop)
    },
  },
  {
    name: 'releases what might have become a stop string and did not',
    async check(bench) {
      const { task, answer } = bench.chat(0)
      const stop = [`${answer.slice(2, 6)}never`, `${answer.slice(-3)}never`]
      const { text, result } = await bench.run(await bench.shared(), { ...task, stop })
      assert.equal(text, answer)
      assert.equal(result.finishReason, 'stop')
    },
  },
  {
    name: 'generates as many tokens as it may and ends with length, none for zero',
    async check(bench) {
      const model = await bench.shared()
      const { task, answer } = bench.chat(0)
      const cut = await bench.run(model, { ...task, maxTokens: 2 })
      assert.equal(cut.result.finishReason, 'length')
      assert.equal(cut.result.usage.completionTokens, 2)
      assert(cut.text.length < answer.length && answer.startsWith(cut.text))
      const none = await bench.run(model, { ...task, maxTokens: 0 })
      assert.deepEqual([none.text, none.parts.length], ['', 1])
      assert.equal(none.result.finishReason, 'length')
      assert.equal(none.result.usage.completionTokens, 0)
    },
  },
  {
    name: 'takes temperature 0 and seed 0 for the values that they are',
    async check(bench) {
      const model = await bench.shared()
      const { task, answer } = bench.chat(0)
      assert.equal((await bench.run(model, { ...task, sampling: { temperature: 0, seed: 0 } })).text, answer)
      const warm = { ...task, sampling: { temperature: 1.5, seed: 0 }, maxTokens: 20 }
      assert.equal((await bench.run(model, warm)).text, (await bench.run(model, warm)).text)
    },
  },
  {
    name: 'never shows a part of a character',
    needs: 'unicode',
    async check(bench) {
      const { task, answer } = bench.subject.unicode ?? bench.chat(0)
      const { parts, text } = await bench.run(await bench.shared(), task)
      assert.equal(text, answer)
      for (const part of parts) {
        if (part.type === 'text') assert.doesNotMatch(part.text, /\p{Cs}|\uFFFD/u)
      }
    },
  },
  {
    name: 'continues an answer that was begun for it',
    needs: 'continuation',
    async check(bench) {
      const { task, answer } = bench.subject.continuation ?? bench.chat(0)
      assert.equal((await bench.run(await bench.shared(), task)).text, answer)
    },
  },
  {
    name: 'takes no text of a user for the marks of its prompt format (P15)',
    unless: 'tokenizes',
    async check(bench) {
      const { controlText } = bench.subject
      const plain = await tokensOf(bench, 'x')
      const tricky = await tokensOf(bench, `x ${controlText}`)
      assert(tricky - plain > 1, `"${controlText}" became ${tricky - plain} token`)
      await bench.run(await bench.shared(), { ...askedOf(`x ${controlText}`), maxTokens: 1 })
    },
  },
]
