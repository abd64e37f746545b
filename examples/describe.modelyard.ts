// An engine that uses two other models: one says what is in a picture, the other talks about it. Served with
//   modelyard serve --config examples/describe.modelyard.ts
// Both others are scripted here; put models with weights in their places.
import { defineEngine, type ConfigurationInput, type ContentPart, type Message } from 'modelyard'

interface DescribeOptions {
  eyes: string
  voice: string
}

const describe = defineEngine<DescribeOptions>({
  name: 'describe',
  tasks: ['chat'],
  capabilities: { images: true },
  options({ eyes, voice }) {
    if (typeof eyes === 'string' && typeof voice === 'string') return { eyes, voice }
    throw new Error('eyes and voice must name models.')
  },

  // Memory and places are planned for all three together: no run waits for itself, and what can never fit is refused at once.
  uses: ({ options: { eyes, voice } }) => [eyes, voice],

  load: ({ options: { eyes, voice } }) => ({
    async *run(task, { models }) {
      if (task.kind !== 'chat') return
      const messages: Message[] = []
      for (const message of task.messages) {
        const parts: ContentPart[] = typeof message.content === 'string' ? [] : message.content
        const images = parts.filter(({ type }) => type === 'image')
        if (message.role !== 'user' || images.length === 0) {
          messages.push(message)
          continue
        }
        // Of eyes that write captions and take no question: models.run(eyes, { kind: 'captioning', image: images[0].data }).
        let caption = ''
        const question: ContentPart[] = [...images, { type: 'text', text: 'What is in the picture?' }]
        for await (const text of models.chat(eyes, { messages: [{ role: 'user', content: question }] }))
          caption += text
        const said = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
        messages.push({ role: 'user', content: `[A picture: ${caption}] ${said}` })
      }
      const { maxTokens, sampling } = task
      yield* models.chat(voice, { messages, sampling, ...(maxTokens !== undefined && { maxTokens }) })
    },
  }),
})

const configuration: ConfigurationInput = {
  engines: [describe],
  models: {
    describe: { engine: 'describe', eyes: 'eyes', voice: 'voice', slots: 4 },
    eyes: { engine: 'scripted', slots: 1, script: [{ text: 'a cat on a sofa', delay: 5 }] },
    voice: {
      engine: 'scripted',
      slots: 1,
      script: [{ match: 'cat', text: 'It looks comfortable.', delay: 5 }],
    },
  },
}
export default configuration
