/**
 * The program that stands for llama-server where it comes in the package xllamacpp, which has the same server as a library: it takes the
 * flags that we use, tells where it listens, and ends with its parent. A flag it does not know ends it, as llama-server does.
 */
export const LAUNCHER: string = String.raw`"""llama-server as a program: the server that the package xllamacpp has in it, started with llama-server's own flags."""
import os, signal, sys, threading
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "site"))
import xllamacpp as x

def fail(message):
    print("error: " + message, file=sys.stderr, flush=True)
    os._exit(1)

def cache_type(name):
    found = getattr(x.ggml_type, "GGML_TYPE_" + name.upper(), None)
    return found if found is not None else fail("invalid argument: cache type " + name)

p = x.CommonParams()
p.kv_unified, p.fit_params, p.ui, p.port = False, False, False, 0
p.endpoint_slots = True
mapped, locked = True, False

def set_path(holder, path):
    if not os.path.isfile(path): fail("no such file: " + path)
    holder.path = path

def set_loras(text):
    adapters = []
    for item in text.split(","):
        path, _, scale = item.rpartition(":")
        if not os.path.isfile(path): fail("no such file: " + path)
        adapters.append(x.CommonAdapterLoraInfo(path, float(scale)))
    p.lora_adapters = list(p.lora_adapters) + adapters

def set_draft(path):
    set_path(p.speculative.draft.mparams, path)
    p.speculative.types = [x.common_speculative_type.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE]

def set_attribute(holder, name, kind=int):
    return lambda value: setattr(holder, name, kind(value))

FLASH = {"on": "ENABLED", "off": "DISABLED", "auto": "AUTO"}
WITH_VALUE = {
    "-m": lambda v: setattr(p.model, "path", v), "--alias": lambda v: setattr(p, "model_alias", {v}),
    "--host": lambda v: setattr(p, "hostnames", [v]), "--port": set_attribute(p, "port"),
    "-c": set_attribute(p, "n_ctx"), "-np": set_attribute(p, "n_parallel"),
    "-b": set_attribute(p, "n_batch"), "-ub": set_attribute(p, "n_ubatch"),
    "-t": set_attribute(p.cpuparams, "n_threads"), "-tb": set_attribute(p.cpuparams_batch, "n_threads"),
    "-ngl": set_attribute(p, "n_gpu_layers"), "--cache-ram": set_attribute(p, "cache_ram_mib"),
    "-fa": lambda v: setattr(p, "flash_attn_type", getattr(x.llama_flash_attn_type, "LLAMA_FLASH_ATTN_TYPE_" + FLASH[v])),
    "-ctk": lambda v: setattr(p, "cache_type_k", cache_type(v)), "-ctv": lambda v: setattr(p, "cache_type_v", cache_type(v)),
    "--lora-scaled": set_loras, "--mmproj": lambda v: set_path(p.mmproj, v), "-md": set_draft,
    "--draft-max": lambda v: setattr(p.speculative.draft, "n_max", int(v)),
    "--slot-save-path": lambda v: setattr(p, "slot_save_path", os.path.join(v, "")),
    "--api-key": lambda v: setattr(p, "api_keys", [v]),
}

def rerank():
    p.embedding, p.pooling_type = True, x.llama_pooling_type.LLAMA_POOLING_TYPE_RANK

def set_flag(name, value):
    globals()[name] = value

WITHOUT_VALUE = {
    "--no-warmup": lambda: setattr(p, "warmup", False), "--no-webui": lambda: None,
    "--swa-full": lambda: setattr(p, "swa_full", True), "--embeddings": lambda: setattr(p, "embedding", True),
    "--rerank": rerank, "--no-mmap": lambda: set_flag("mapped", False), "--mlock": lambda: set_flag("locked", True),
}

def read(arguments):
    rest = iter(arguments)
    for name in rest:
        if name == "--version":
            print("version: " + x.__version__, flush=True)
            sys.exit(0)
        if name in WITHOUT_VALUE: WITHOUT_VALUE[name]()
        elif name in WITH_VALUE:
            value = next(rest, None)
            if value is None: fail("expected value for argument: " + name)
            try: WITH_VALUE[name](value)
            except (ValueError, KeyError): fail("invalid argument: %s %s" % (name, value))
        else: fail("unknown argument: " + name)

def end_with_parent():
    while sys.stdin.buffer.read(4096): pass
    os._exit(1)

read(sys.argv[1:])
if "LLAMA_API_KEY" in os.environ: p.api_keys = [os.environ["LLAMA_API_KEY"]]
MODES = {(True, False): "MMAP", (True, True): "MMAP_MLOCK", (False, True): "MLOCK", (False, False): "NONE"}
p.load_mode = getattr(x.llama_load_mode, "LLAMA_LOAD_MODE_" + MODES[(mapped, locked)])
stop = threading.Event()
for number in (signal.SIGTERM, signal.SIGINT): signal.signal(number, lambda *_: stop.set())
threading.Thread(target=end_with_parent, daemon=True).start()
try: server = x.Server(p)
except Exception as error: fail("failed to load model: %s" % error)
print("server is listening on " + server.listening_address, flush=True)
stop.wait()
os._exit(0)
`
