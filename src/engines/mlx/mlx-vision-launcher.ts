import { MLX_FACE } from './launcher-face.ts'
import { MLX_VISION_CHOICE } from './vision-launcher-choice.ts'
import { MLX_VISION_IMAGES } from './vision-launcher-images.ts'

/**
 * Runs the generator of mlx_vlm's server with the same face as mlx_lm's. What the source of mlx_vlm 0.7.10 does, and what is done about it
 * (docs/decisions/2026-12-01-mlx-vision.md has the whole list):
 * - its HTTP routes fetch images from URLs, open local files by name and load whatever model a request names: none of them is there; images
 *   are decoded here, from bytes, and nothing else is ever given to it;
 * - code in a model's folder is run by some of its processors although it was not asked to: never here;
 * - the sampler, and whether log-probabilities are told, are those of a batch's first request: each row chooses its own tokens here;
 * - numbers of requests begin anew with each batch, so that a late cancellation hits somebody else: here they never come back;
 * - whatever fails in one request's embedding ends all that run: here it ends that one.
 * The plan comes as JSON in the first argument: `model`, `adapter`, `slots`, `step`.
 */
export const MLX_VISION_LAUNCHER: string = String.raw`${MLX_FACE}
import queue, select, socket
logging.basicConfig(level=logging.WARNING)
PLAN = json.loads(sys.argv[1])
SLOTS = PLAN["slots"]
os.environ["MLX_VLM_MAX_NUM_SEQS"] = str(SLOTS)

def run_no_code(*args, **options):
    raise ValueError("its folder brings program code of its own, which is not run")

import transformers.dynamic_module_utils
transformers.dynamic_module_utils.get_class_in_module = run_no_code

import mlx.core as mx
from mlx_vlm.generate.diffusion import is_diffusion_model
from mlx_vlm.server import generation
from mlx_vlm.vision_cache import VisionFeatureCache

ALTERNATIVES = 20
MOVED = object()
${MLX_VISION_CHOICE}${MLX_VISION_IMAGES}
class Failed:
    """Stands for the tokens of a prompt that could not be embedded: whoever looks at them is told why."""
    def __init__(self, error):
        self.error = error

    def squeeze(self, axis):
        raise self.error

class Generator(Pictures, generation.ResponseGenerator):
    def __init__(self):
        super().__init__(
            PLAN["model"], adapter_path=PLAN.get("adapter"), prefill_step_size=PLAN["step"],
            top_logprobs_k=ALTERNATIVES, vision_cache=VisionFeatureCache(max_size=2 * SLOTS))

    def submit(self, inputs, pictures, limit, row):
        args = generation.GenerationArguments(max_tokens=limit, temperature=1.0, logprobs=True)
        args.row = row
        request = generation.QueuedGenerationRequest(
            rqueue=queue.Queue(), raw_inputs=inputs, prompt_tokens=inputs["input_ids"].shape[1], args=args,
            images=pictures)
        self.requests.put(request)
        return request.rqueue

    def give_up(self, waiting, uid):
        while uid is None:
            item = waiting.get()
            if item is None or isinstance(item, Exception):
                return
            uid = getattr(item, "uid", None)
        self._cancel(uid)

    def _make_sampler(self, args):
        return choose_all

    def _make_logits_processors(self, args, input_ids=None):
        return args.row.processors

    def _gpu_embed(self, *args, **options):
        try:
            ids, values = super()._gpu_embed(*args, **options)
            mx.eval([value for value in values.values() if isinstance(value, mx.array)])
            return ids, values
        except Exception as error:
            return Failed(error), {}

    def _log_prefill_progress(self, batch, active):
        prompt = batch._prompt_batch
        for uid in () if prompt is None else prompt.uids:
            if uid in active:
                active[uid]["rqueue"].put(MOVED)

class Handler(Face, http.server.BaseHTTPRequestHandler):
    @property
    def tokenizer(self):
        return generator.tokenizer

    @property
    def healthy(self):
        return generator._thread.is_alive()

    @property
    def ends(self):
        return set(generator.stop_tokens) | set(generator.tokenizer.stopping_criteria.eos_token_ids)

    @property
    def template(self):
        own = getattr(generator.processor, "chat_template", None)
        return own if isinstance(own, str) else generator.tokenizer.chat_template

    def vocabulary(self):
        return {**super().vocabulary(), "image": image_text(generator)}

    def ids_of(self, body):
        with generator._tokenizer_lock:
            return super().ids_of(body)

    def route(self, body):
        if self.path != "/images":
            return super().route(body)
        inputs = generator.processed(body["text"], body["images"])
        self.answer(200, {"ids": inputs["input_ids"].flatten().tolist()})

    def generate(self, body):
        pictures = body.get("pictures")
        inputs = generator.inputs_of(body["prompt"], pictures)
        waiting = generator.submit(inputs, pictures and pictures["images"], body["maxTokens"], Row(body))
        self.begin()
        uid, is_over = None, False
        try:
            self.tell({"cached": 0})
            for item in self.arrivals(waiting):
                if item is MOVED:
                    self.tell({"prefill": 0})
                elif isinstance(item, generation.GenerationContext):
                    uid = item.uid
                else:
                    is_over = item.finish_reason is not None
                    self.tell(self.told(item, body))
        except (BrokenPipeError, ConnectionResetError):
            pass
        except Exception as error:
            is_over = True
            logging.error("an answer failed: %s", type(error).__name__)
            self.tell({"error": f"{type(error).__name__}: {error}"})
        finally:
            if not is_over:
                generator.give_up(waiting, uid)

    def arrivals(self, waiting):
        """What comes, until it is all or nobody listens any more: nothing is written during a prefill that could fail."""
        while True:
            try:
                item = waiting.get(timeout=0.05)
            except queue.Empty:
                if self.is_left():
                    raise BrokenPipeError()
                continue
            if item is None:
                return
            if isinstance(item, Exception):
                raise item
            yield item

    def is_left(self):
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def told(self, item, body):
        alternatives = (item.top_logprobs or [])[: body["alternatives"]]
        with generator._tokenizer_lock:
            top = [[int(id), self.tokenizer.decode([int(id)]), value] for id, value in alternatives]
            text = self.shown(item.token, item.text, body["continues"])
        return {"text": text, "id": item.token, "logprob": item.logprobs, "top": top, "end": item.finish_reason}

def fail(error):
    print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    os._exit(1)

generator = Generator()
try:
    generator.wait_until_ready()
    without_padding(generator.processor)
    if is_diffusion_model(generator.model):
        raise ValueError(f"Model type {generator.model.config.model_type} not supported: it writes all at once")
except Exception as error:
    fail(error.__context__ or error)
serve(Handler)
`
