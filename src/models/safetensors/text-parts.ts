/** Fields of `config.json` in which models that see keep what concerns text. */
export const TEXT_PARTS = ['text_config', 'llm_config', 'language_config'] as const
