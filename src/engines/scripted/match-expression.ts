/** What a script's `match` means; undefined matches everything. `/…/i` gives flags. @throws SyntaxError for what is no regular expression */
export function matchExpression(match: string | undefined): RegExp | undefined {
  if (match === undefined || match === '' || match === '.*') return undefined
  const literal = /^\/(.+)\/([dimsuv]*)$/s.exec(match)
  return literal === null ? new RegExp(match) : new RegExp(literal[1] ?? '', literal[2])
}
