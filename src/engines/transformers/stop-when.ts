import type { InterruptibleCriteria, TransformersModule } from './transformers-module.ts'

/** Ends a generation between two tokens. `onToken` is told each as it comes. */
export function stopWhen(
  { InterruptableStoppingCriteria: Criteria }: TransformersModule,
  isOver: () => boolean,
  onToken: (token: number) => void = () => undefined,
): InterruptibleCriteria {
  const criteria = new Criteria()
  const ask = criteria._call.bind(criteria)
  criteria._call = (texts, scores) => {
    const token = texts[0]?.at(-1)
    if (token !== undefined) onToken(Number(token))
    if (isOver()) criteria.interrupt()
    return ask(texts, scores)
  }
  return criteria
}
