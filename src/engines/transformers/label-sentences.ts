import type { ClassificationTask } from '../../tasks/classification-task.ts'

/**
 * The sentences that labels are judged in, in the order of the labels, as `encode` has them. `usual` = the one for whoever sends none.
 * `encode` refuses what is too long by the field it is told: the label, or the hypothesis where the label alone is short enough.
 */
export function labelSentences<Encoded>(
  { labels, hypothesis }: Pick<ClassificationTask, 'hypothesis'> & { labels: readonly string[] },
  usual: string,
  encode: (sentence: string, index: number, field: string) => Encoded,
): Encoded[] {
  return labels.map((label, index) => {
    const sentence = (hypothesis ?? usual).replaceAll('{}', () => label)
    const field = `labels[${index}]`
    if (hypothesis === undefined) return encode(sentence, index, field)
    encode(label, index, field)
    return encode(sentence, index, 'hypothesis')
  })
}
