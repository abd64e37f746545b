import { requiredImage } from '../dialects/decode-image.ts'
import { decodeModel } from '../dialects/decode-model.ts'
import type { DialectRequest, RunAction } from '../dialects/dialect.ts'
import { decodeExtensions } from '../dialects/extensions.ts'
import { optionalNumber } from '../dialects/fields.ts'
import type { DetectedObject } from '../runs/collect-values.ts'
import type { Part } from '../tasks/part.ts'
import { describedBody } from './described-request.ts'
import { WholeAnswer } from './whole-answer.ts'

/** `POST /api/yard/detect` @throws ModelyardError `invalid_request` naming the field */
export function decodeDetect({ body, headers }: DialectRequest): RunAction {
  const fields = describedBody('POST /api/yard/detect', body)
  const model = decodeModel(fields)
  const threshold = optionalNumber(fields, 'threshold', { least: 0, most: 1 })
  const options = decodeExtensions(fields, headers)
  const image = requiredImage(fields)
  return {
    type: 'run',
    model,
    tasks: [{ kind: 'detection', image, ...(threshold !== undefined && { threshold }) }],
    options,
    encoder: detection(model),
    featureFields: { task: 'model' },
  }
}

function detection(model: string): WholeAnswer {
  const objects: DetectedObject[] = []
  const take = (part: Part): void => {
    if (part.type === 'object') objects.push({ label: part.label, score: part.score, box: part.box })
  }
  return new WholeAnswer(take, () => ({ model, objects }))
}
