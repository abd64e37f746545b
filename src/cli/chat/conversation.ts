import type { Message } from '../../tasks/message.ts'

/** What has been said in one chat, and to whom. */
export class Conversation {
  model: string
  system: string | undefined
  #turns: Message[] = []

  constructor(model: string, system?: string) {
    this.model = model
    this.system = system
  }

  /** The conversation as the model is to see it, with the question at its end. */
  messagesFor(question: string): Message[] {
    const system: Message[] = this.system === undefined ? [] : [{ role: 'system', content: this.system }]
    return [...system, ...this.#turns, { role: 'user', content: question }]
  }

  /** Keeps a turn. What was answered until a stop counts; a question without any answer is forgotten, so that turns alternate. */
  add(question: string, answer: string): void {
    if (answer === '') return
    this.#turns.push({ role: 'user', content: question }, { role: 'assistant', content: answer })
  }

  clear(): void {
    this.#turns = []
  }

  get turns(): number {
    return this.#turns.length / 2
  }
}
