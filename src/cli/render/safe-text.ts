/**
 * A model's text as a terminal may show it: control characters (escape sequences could move the cursor, set the title or answer
 * for the user) become visible signs; line feed and tab stay.
 */
export function safeText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, (character) =>
    character === '\r' ? '' : controlPicture(character.charCodeAt(0)),
  )
}

function controlPicture(code: number): string {
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  return code === 0x7f ? '\u2421' : '\uFFFD'
}
