/** Models without weights, whose answers are written down: what the tests of the command line run on. */
export const SCRIPTED_MODELS: Record<string, object> = {
  fake: {
    engine: 'scripted',
    memory: '8MiB',
    aliases: ['faker'],
    context: 512,
    script: [
      { match: 'weather', toolCalls: [{ name: 'weather', arguments: { city: 'Rome' } }] },
      { match: 'slowly', text: 'one two three four five six seven eight nine ten', delay: 400 },
      { match: 'break', text: ['half'], error: { at: 1, message: 'The script broke here.' } },
      { match: 'think', reasoning: 'let me see', text: 'thought' },
      { match: 'say it back', echo: 'user' },
      { match: 'say it all', echo: 'prompt' },
      { match: 'escape', text: ['\u001B[2J', 'clear'] },
      { match: '.*', text: ['Hel', 'lo', ' there'] },
    ],
  },
  other: { engine: 'scripted', memory: '8MiB', script: [{ match: '.*', text: ['other'] }] },
  huge: { engine: 'scripted', memory: '900TiB', script: [] },
  starved: {
    engine: 'scripted',
    memory: '8MiB',
    script: [],
    failLoad: { class: 'out_of_memory', message: 'There was no memory for the context.' },
  },
  broken: {
    engine: 'scripted',
    memory: '8MiB',
    script: [],
    failLoad: { class: 'bad_file', message: 'The file is a cake recipe.' },
  },
}
