import type { Part, PromptLogprob } from '../../tasks/part.ts'

/** The old `logprobs` object of completions. */
export interface CompletionLogprobs {
  tokens: string[]
  token_logprobs: (number | null)[]
  top_logprobs: (Record<string, number> | null)[]
  text_offset: number[]
}

/** Of the prompt that is sent back, and of what follows. @param offset UTF-16 units of the choice's text before the first of these tokens */
export function completionLogprobs(entries: readonly PromptLogprob[], offset: number): CompletionLogprobs {
  const logprobs: CompletionLogprobs = {
    tokens: [],
    token_logprobs: [],
    top_logprobs: [],
    text_offset: [],
  }
  let at = offset
  for (const { text, logprob, top } of entries) {
    logprobs.tokens.push(text)
    logprobs.token_logprobs.push(logprob)
    logprobs.top_logprobs.push(
      logprob === null ? null : Object.fromEntries(top.map((other) => [other.text, other.logprob])),
    )
    logprobs.text_offset.push(at)
    at += text.length
  }
  return logprobs
}

/** What a part says of its tokens, those of the prompt first; undefined = nothing. */
export function logprobsOf(part: Part & { type: 'text' }): readonly PromptLogprob[] | undefined {
  const { promptLogprobs, logprobs } = part
  return promptLogprobs === undefined ? logprobs : [...promptLogprobs, ...(logprobs ?? [])]
}
