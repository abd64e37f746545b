import { nearestNames } from '../../base/nearest.ts'

export const CHAT_COMMANDS = {
  model: { usage: '/model [NAME]', does: 'change to another model, or show which one answers' },
  system: { usage: '/system [TEXT]', does: 'set the system text, or show it; /system none takes it away' },
  clear: { usage: '/clear', does: 'forget the conversation, keep the system text' },
  help: { usage: '/help', does: 'show this' },
  exit: { usage: '/exit', does: 'leave (also Ctrl-D)' },
} as const

export type ChatCommandName = keyof typeof CHAT_COMMANDS

const OTHER_NAMES = new Map<string, ChatCommandName>([
  ['bye', 'exit'],
  ['quit', 'exit'],
  ['q', 'exit'],
  ['?', 'help'],
])

export function findChatCommand(name: string): ChatCommandName | undefined {
  if (Object.hasOwn(CHAT_COMMANDS, name)) return name as ChatCommandName
  return OTHER_NAMES.get(name)
}

export function unknownChatCommand(name: string): string {
  const [nearest] = nearestNames(name, Object.keys(CHAT_COMMANDS), 1)
  return `There is no /${name}.${nearest === undefined ? '' : ` Did you mean /${nearest}?`} /help lists what there is.`
}

export function chatHelp(): string {
  const entries = Object.values(CHAT_COMMANDS)
  const width = Math.max(...entries.map(({ usage }) => usage.length))
  return [
    ...entries.map(({ usage, does }) => `  ${usage.padEnd(width)}  ${does}`),
    '',
    '  A line that ends with \\ goes on in the next one; everything between """ and """ is one message.',
    '  Ctrl-C stops an answer; at an empty prompt, twice, it leaves. Up and down walk through earlier lines.',
  ].join('\n')
}

/** Completions of a line for the line editor: commands, and model names after `/model `. @returns the candidates and what they replace */
export function completeChatLine(line: string, models: readonly string[]): [string[], string] {
  const model = /^\/model\s+(\S*)$/.exec(line)
  if (model !== null) {
    const begun = model[1] ?? ''
    return [models.filter((name) => name.startsWith(begun)), begun]
  }
  if (!/^\/[a-z]*$/.test(line)) return [[], line]
  const names = Object.keys(CHAT_COMMANDS).map((name) => `/${name}`)
  return [names.filter((name) => name.startsWith(line)).map((name) => `${name} `), line]
}
