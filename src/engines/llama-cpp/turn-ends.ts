/** Texts that end a turn in some model; llama.cpp makes tokens of this text control tokens whatever their file says. */
export const TURN_ENDS: ReadonlySet<string> = new Set([
  ...'</s> <EOT> _<EOT> <end_of_turn> <end_of_utterance> <eos> <turn|> <|calls|> <|call|> <|end_of_text|> <|endoftext|>'.split(
    ' ',
  ),
  ...'<|end|> <|eom_id|> <|eot_id|> <|flush|> <|im_end|> <|return|> <|tool_response> <｜end▁of▁sentence｜> [EOS] [EOT] [e~['.split(
    ' ',
  ),
  '< EOT >',
])
