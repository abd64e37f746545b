/**
 * What both launchers say to whoever has the key, in Python: the model is loaded before anybody listens, on a port of the system's choice;
 * tokens go in and come out; the program ends with its parent. `Face` is mixed into a handler of HTTP that has `tokenizer`, `healthy` and
 * `generate(body)`.
 */
export const MLX_FACE: string = String.raw`
import http.server, json, logging, os, sys, threading, time

KEY = os.environ.pop("MODELYARD_SERVER_KEY")

class Refused(Exception):
    """What the asker can do something about: its words are meant for people."""

class Face:
    def log_message(self, *args):
        pass

    def do_OPTIONS(self):
        self.refuse(404, "not found")

    def do_GET(self):
        if not self.allowed():
            return
        if self.path == "/vocabulary":
            return self.answer(200, self.vocabulary())
        healthy = self.path == "/health" and self.healthy
        self.answer(200 if healthy else 503, {"healthy": healthy})

    def do_POST(self):
        if not self.allowed():
            return
        try:
            self.route(json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0)))))
        except (BrokenPipeError, ConnectionResetError):
            pass
        except Refused as refusal:
            self.refuse(422, str(refusal))
        except Exception as error:
            logging.exception("a request failed")
            self.refuse(500, f"{type(error).__name__}: {error}")

    def route(self, body):
        if self.path == "/tokenize":
            self.answer(200, {"ids": self.ids_of(body)})
        elif self.path == "/detokenize":
            self.answer(200, {"text": self.tokenizer.decode(body["ids"])})
        elif self.path == "/generate":
            self.generate(body)
        else:
            self.refuse(404, "not found")

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

    @property
    def ends(self):
        return set(self.tokenizer.eos_token_ids)

    @property
    def template(self):
        return self.tokenizer.chat_template

    def vocabulary(self):
        tokenizer, ends = self.tokenizer, self.ends
        added = tokenizer.added_tokens_decoder
        texts = tokenizer.get_vocab()
        return {
            "control": [[id, token.content, id in ends] for id, token in added.items() if token.special or id in ends],
            "userDefined": [token.content for id, token in added.items() if not token.special and id not in ends],
            "size": max(texts.values()) + 1,
            "longestToken": max(len(text.encode()) for text in texts),
            "template": self.template,
            "begin": tokenizer.bos_token,
            "end": tokenizer.eos_token,
        }

    def ids_of(self, body):
        begins = body.get("begins", False)
        ids = []
        for index, piece in enumerate(body["pieces"]):
            ids += self.tokenizer.encode(piece, add_special_tokens=begins and index == 0)
        return ids

    def begin(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.end_headers()
        self.begun = False

    def tell(self, value):
        self.wfile.write(json.dumps(value).encode() + b"\n")
        self.wfile.flush()

    def shown(self, token, text, continues):
        """The first text of an answer comes without its leading space, which is wrong within a text."""
        if not text or self.begun:
            return text
        self.begun = True
        written = self.tokenizer.convert_ids_to_tokens(token)
        mark = ("\u0120", "\u2581") if continues else ("\u0120",)
        return " " + text if written.startswith(mark) and not text.startswith(" ") else text

class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True

def serve(handler):
    httpd = Server(("127.0.0.1", 0), handler)
    print(f"listening on http://127.0.0.1:{httpd.server_port}", flush=True)
    httpd.serve_forever()

def end_with_parent():
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)

threading.Thread(target=end_with_parent, daemon=True).start()
`
