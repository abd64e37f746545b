/**
 * Runs mlx_lm's server with another face: it loads the model before it listens, on a port of the system's choice, for whoever has the key;
 * takes and gives tokens, so that templates, stop strings, tools and limits are ours; keeps of a conversation's beginning only what it is told
 * to; and ends with its parent. Model and options come as mlx_lm.server's own arguments.
 */
export const MLX_LAUNCHER: string = String.raw`
import http.server, json, logging, os, sys, threading, time
from mlx_lm import server
from mlx_lm.models.cache import LRUPromptCache, can_trim_prompt_cache, trim_prompt_cache

KEY = os.environ.pop("MODELYARD_SERVER_KEY")

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

class Handler(server.APIHandler):
    def log_message(self, *args):
        pass

    def do_OPTIONS(self):
        self.refuse(404, "not found")

    def do_GET(self):
        if not self.allowed():
            return
        if self.path == "/vocabulary":
            return self.answer(200, self.vocabulary())
        healthy = self.path == "/health" and self.response_generator.is_healthy
        self.answer(200 if healthy else 503, {"healthy": healthy})

    def do_POST(self):
        if not self.allowed():
            return
        try:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            if self.path == "/tokenize":
                self.answer(200, {"ids": self.ids_of(body)})
            elif self.path == "/detokenize":
                self.answer(200, {"text": self.tokenizer.decode(body["ids"])})
            elif self.path == "/generate":
                self.generate(body)
            else:
                self.refuse(404, "not found")
        except (BrokenPipeError, ConnectionResetError):
            pass
        except Exception as error:
            logging.exception("a request failed")
            self.refuse(500, f"{type(error).__name__}: {error}")

    @property
    def tokenizer(self):
        return self.response_generator.model_provider.tokenizer

    def allowed(self):
        if self.headers.get("Authorization") == f"Bearer {KEY}":
            return True
        self.refuse(401, "this server belongs to another program")
        return False

    def refuse(self, status, message):
        self.answer(status, {"error": {"message": message}})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def vocabulary(self):
        tokenizer = self.tokenizer
        added = tokenizer.added_tokens_decoder
        ends = set(tokenizer.eos_token_ids)
        texts = tokenizer.get_vocab()
        return {
            "control": [[id, token.content, id in ends] for id, token in added.items() if token.special or id in ends],
            "userDefined": [token.content for id, token in added.items() if not token.special and id not in ends],
            "size": max(texts.values()) + 1,
            "longestToken": max(len(text.encode()) for text in texts),
            "template": tokenizer.chat_template,
            "begin": tokenizer.bos_token,
            "end": tokenizer.eos_token,
        }

    def ids_of(self, body):
        begins = body.get("begins", False)
        ids = []
        for index, piece in enumerate(body["pieces"]):
            ids += self.tokenizer.encode(piece, add_special_tokens=begins and index == 0)
        return ids

    def tell(self, value):
        self.wfile.write(json.dumps(value).encode() + b"\n")
        self.wfile.flush()

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
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.end_headers()
        context = None
        try:
            context, tokens = self.response_generator.generate(
                request, args, progress_callback=lambda done, total: self.tell({"prefill": done}))
            self.tell({"cached": max(0, context.prompt_cache_count)})
            begun = False
            for token in tokens:
                # The first text of an answer comes without its leading space, which is wrong within a text.
                if token.text and not begun:
                    begun = True
                    written = self.tokenizer.convert_ids_to_tokens(token.token)
                    mark = ("\u0120", "\u2581") if body["continues"] else ("\u0120",)
                    if written.startswith(mark) and not token.text.startswith(" "):
                        token.text = " " + token.text
                top = [[t["id"], self.tokenizer.decode([t["id"]]), t["logprob"]] for t in token.top_tokens]
                self.tell({"text": token.text, "id": token.token, "logprob": token.logprob,
                           "top": top, "end": token.finish_reason})
        except (BrokenPipeError, ConnectionResetError):
            pass
        except Exception as error:
            logging.exception("an answer failed")
            self.tell({"error": f"{type(error).__name__}: {error}"})
        finally:
            if context is not None:
                context.stop()

class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True

def listen(host, port, generator):
    while generator.model_provider.model is None:
        if not generator.generation_available():
            print("the model could not be loaded", file=sys.stderr, flush=True)
            os._exit(1)
        time.sleep(0.01)
    httpd = Server(("127.0.0.1", 0), lambda *args: Handler(generator, *args, system_fingerprint="mlx"))
    print(f"listening on http://127.0.0.1:{httpd.server_port}", flush=True)
    httpd.serve_forever()

def end_with_parent():
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)

server._run_http_server = listen
threading.Thread(target=end_with_parent, daemon=True).start()
server.main()
`
