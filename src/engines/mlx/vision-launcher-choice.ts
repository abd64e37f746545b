/**
 * How the launcher of mlx_vlm chooses tokens, in Python. A batch there has one sampler, made for the request that began it; here that sampler
 * asks each row of the batch for its own choice. It knows the rows by the order in which the batch asked them for their logits.
 */
export const MLX_VISION_CHOICE: string = String.raw`
from mlx_vlm.sample_utils import apply_min_p, apply_top_k, apply_top_p, make_logits_processors

class Row:
    """How the tokens of one answer are chosen."""
    # In the order in which the batch asked for logits.
    asked = []

    def __init__(self, body):
        self.sampling, limits = body["sampling"], body["penalties"]
        self.seed = body.get("seed", int.from_bytes(os.urandom(8), "big"))
        self.position = 0
        repeat, window = limits["repeat"], limits["window"]
        self.processors = make_logits_processors(
            {int(token): bias for token, bias in body["logitBias"].items()} or None,
            None if repeat == 1 else repeat, window, limits["presence"] or None, window,
            limits["frequency"] or None, window) + [self]

    def __call__(self, tokens, logits):
        self.position = tokens.size
        Row.asked.append(self)
        return logits

    def choose(self, logprobs):
        temperature, top_k = self.sampling["temperature"], self.sampling["topK"]
        top_p, min_p = self.sampling["topP"], self.sampling["minP"]
        if temperature == 0:
            return mx.argmax(logprobs, axis=-1)
        if 0 < top_p < 1:
            logprobs = apply_top_p(logprobs, top_p)
        if min_p > 0:
            logprobs = apply_min_p(logprobs, min_p)
        if 0 < top_k < logprobs.shape[-1]:
            logprobs = apply_top_k(logprobs, top_k)
        # By seed and place alone: the same whoever else is in the batch, and when an answer is gone on with.
        key = mx.random.key((self.seed + self.position * 0x9E3779B97F4A7C15) % 2**64)
        return mx.random.categorical(logprobs / max(temperature, 0.01), key=key)

def choose_all(logprobs):
    rows = Row.asked[:]
    Row.asked.clear()
    if len(rows) != logprobs.shape[0]:
        raise RuntimeError(f"{len(rows)} rows for {logprobs.shape[0]} choices")
    return mx.concatenate([row.choose(logprobs[i : i + 1]) for i, row in enumerate(rows)])

class Batch(generation.BatchGenerator):
    made = 0

    def __init__(self, *args, **options):
        # Prompts with and without images are evaluated apart: their inputs differ.
        super().__init__(*args, prefill_batch_size=1, completion_batch_size=SLOTS, **options)
        Batch.made += 1
        self.uid_count = Batch.made * 2**32

generation.BatchGenerator = Batch
`
