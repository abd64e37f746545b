import { MLX_FACE } from './launcher-face.ts'

/**
 * Runs mlx_lm's server with another face, so that templates, stop strings, tools and limits are ours; keeps of a conversation's beginning only
 * what it is told to. Model and options come as mlx_lm.server's own arguments.
 */
export const MLX_LAUNCHER: string = String.raw`${MLX_FACE}
from mlx_lm import server
from mlx_lm.models.cache import LRUPromptCache, can_trim_prompt_cache, trim_prompt_cache

class Fresh(list):
    """A prompt that shares nothing with what was there before."""
    def __getitem__(self, index):
        found = super().__getitem__(index)
        return Fresh(found) if isinstance(index, slice) else found

class Cache(LRUPromptCache):
    def fetch_nearest_cache(self, model, tokens):
        if isinstance(tokens, Fresh):
            return None, list(tokens)
        cache, rest = super().fetch_nearest_cache(model, tokens)
        if rest:
            return cache, rest
        # One token at least has to be evaluated.
        if cache is None or not can_trim_prompt_cache(cache):
            return None, tokens
        trim_prompt_cache(cache, 1)
        return cache, tokens[-1:]

def tokenize(self, tokenizer, request, args):
    prompt = request.prompt
    return prompt, [list(prompt)], ["assistant"], "normal", None

server.LRUPromptCache = Cache
server.ResponseGenerator._tokenize = tokenize

class Handler(Face, server.APIHandler):
    @property
    def tokenizer(self):
        return self.response_generator.model_provider.tokenizer

    @property
    def healthy(self):
        return self.response_generator.is_healthy

    def generate(self, body):
        sampling, limits = body["sampling"], body["penalties"]
        args = server.GenerationArguments(
            model=server.ModelDescription("default_model", "default_model", None),
            sampling=server.SamplingArguments(
                sampling["temperature"], sampling["topP"], sampling["topK"], sampling["minP"], 0.0, 0.0),
            logits=server.LogitsProcessorArguments(
                {int(token): bias for token, bias in body["logitBias"].items()} or None,
                limits["repeat"], limits["window"], limits["presence"], limits["window"],
                limits["frequency"], limits["window"]),
            stop_words=[],
            max_tokens=body["maxTokens"],
            num_draft_tokens=body["draftTokens"],
            logprobs=True,
            top_logprobs=body["alternatives"],
            seed=body.get("seed"),
            chat_template_kwargs=None,
        )
        prompt = body["prompt"] if body["reuse"] else Fresh(body["prompt"])
        request = server.CompletionRequest("text", prompt, [], None, None)
        self.begin()
        context = None
        try:
            context, tokens = self.response_generator.generate(
                request, args, progress_callback=lambda done, total: self.tell({"prefill": done}))
            self.tell({"cached": max(0, context.prompt_cache_count)})
            for token in tokens:
                text = self.shown(token.token, token.text, body["continues"])
                top = [[t["id"], self.tokenizer.decode([t["id"]]), t["logprob"]] for t in token.top_tokens]
                self.tell({"text": text, "id": token.token, "logprob": token.logprob,
                           "top": top, "end": token.finish_reason})
        except (BrokenPipeError, ConnectionResetError):
            pass
        except Exception as error:
            logging.exception("an answer failed")
            self.tell({"error": f"{type(error).__name__}: {error}"})
        finally:
            if context is not None:
                context.stop()

def listen(host, port, generator):
    while generator.model_provider.model is None:
        if not generator.generation_available():
            print("the model could not be loaded", file=sys.stderr, flush=True)
            os._exit(1)
        time.sleep(0.01)
    serve(lambda *args: Handler(generator, *args, system_fingerprint="mlx"))

server._run_http_server = listen
server.main()
`
