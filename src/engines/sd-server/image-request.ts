import { ModelyardError } from '../../base/errors.ts'
import type { ImageTask } from '../../tasks/image-task.ts'
import type { LoadPlan } from '../engine.ts'
import { requestedSize, type ImageSize } from './image-size.ts'
import { isTiled } from './sd-server-plan.ts'
import { DEFAULT_STEPS, MOST_STEPS, sdServerOptions } from './sd-server-options.ts'

/** The body of `POST /sdcpp/v1/img_gen` for one picture. Source: examples/server/api.md of stable-diffusion.cpp, "Request Body". */
export interface JobBody {
  prompt: string
  negative_prompt: string
  width: number
  height: number
  seed: number
  batch_count: 1
  sample_params: {
    sample_steps: number
    sample_method?: string
    scheduler?: string
    guidance?: { txt_cfg: number }
  }
  vae_tiling_params: { enabled: boolean }
  /** Pictures do not carry the text they were made of. */
  embed_image_metadata: false
  output_format: 'png'
}

/**
 * Commands that sd-server, or a version of it, reads out of a text: settings of its own with paths of files among them, and adapters. The
 * route that is used reads neither, and nobody should find out that another build does.
 */
const COMMANDS = /<\s*\/?\s*sd_cpp_extra_args\b|<\s*lora\s*:/i

/** What of a task does not differ between its pictures. @throws ModelyardError `invalid_request` naming what is wrong */
export function imageRequest(
  task: ImageTask,
  plan: LoadPlan,
): { size: ImageSize; body: Omit<JobBody, 'seed'> } {
  const options = sdServerOptions(plan.spec)
  const {
    prompt,
    negativePrompt = options.negativePrompt ?? '',
    steps = options.steps ?? DEFAULT_STEPS,
  } = task
  const { width, height, guidance = options.cfg } = task
  refuseCommands('prompt', prompt)
  refuseCommands('negative_prompt', negativePrompt)
  // The program makes 100 of more, and says nothing.
  if (steps > MOST_STEPS) throw wrong('steps', `steps is ${steps}; sd-server makes at most ${MOST_STEPS}.`)
  const asked = width === undefined || height === undefined ? undefined : { width, height }
  const size = requestedSize(asked, plan)
  const { sampler, scheduler } = options
  return {
    size,
    body: {
      prompt,
      negative_prompt: negativePrompt,
      ...size,
      batch_count: 1,
      sample_params: {
        sample_steps: steps,
        ...(sampler !== undefined && { sample_method: sampler }),
        ...(scheduler !== undefined && { scheduler }),
        ...(guidance !== undefined && { guidance: { txt_cfg: guidance } }),
      },
      vae_tiling_params: { enabled: isTiled(size, options) },
      embed_image_metadata: false,
      output_format: 'png',
    },
  }
}

function refuseCommands(param: string, text: string): void {
  if (!COMMANDS.test(text)) return
  throw wrong(
    param,
    `${param} holds a tag that sd-server takes for a command (<sd_cpp_extra_args>, <lora:…>); leave it out. Steps, guidance and seed are fields of the request.`,
  )
}

function wrong(param: string, message: string): ModelyardError {
  return new ModelyardError('invalid_request', message, { details: { param } })
}
