// What a program of somebody else does with the library. Nothing in it ends the process: after `stop()` it has to end by itself.
// Arguments: what to do at the end (`stop`, `exit`, `throw` or `forget`), and the configuration as JSON.
import { createYard } from 'modelyard'

const [, , ending, configuration] = process.argv
const yard = await createYard(JSON.parse(configuration))
const [model] = yard.configuration.models.map(({ id }) => id)
const messages = [{ role: 'user', content: 'hi' }]
const text = await yard.chat({ model, messages, temperature: 0 }).text()
const { url } = await yard.listen({ port: 0 })
const { status } = await fetch(`${url}/v1/models`)
const { pid } = yard.state().instances[0]
console.log(JSON.stringify({ text, status, pid }))
if (ending === 'stop') {
  await yard.stop()
  console.log('stopped')
}
if (ending === 'exit') process.exit(0)
if (ending === 'throw') throw new Error('the program has a fault of its own')
