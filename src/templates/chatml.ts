/** The form most models without a template of their own were trained on. */
export const CHATML: string =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

/** What ends a turn in ChatML, for models whose tokenizer does not know it as a token. */
export const CHATML_STOPS: readonly string[] = ['<|im_end|>', '<|im_start|>']
