/** Length of the longest end of `text` that one of the marks may begin with; a whole mark at the end does not count. */
export function possibleBeginning(text: string, marks: readonly string[]): number {
  let longest = 0
  for (const mark of marks) {
    for (let length = Math.min(mark.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(mark.slice(0, length))) longest = length
    }
  }
  return longest
}
