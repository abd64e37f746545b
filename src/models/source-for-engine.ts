/** A repository of which no file and no quantisation is named. */
const WHOLE_REPOSITORY = /^(hf:[^/:@]+\/[^/:@]+)((?:@.+)?)$/i

/** The source that an engine's files come from: of a repository that leaves the choice, mlx takes the safetensors, also where there are GGUF files. */
export function sourceForEngine(source: string, engine: string | undefined): string {
  return engine === 'mlx' ? source.trim().replace(WHOLE_REPOSITORY, '$1:safetensors$2') : source
}
