/**
 * What the launcher of mlx_vlm does with images, in Python: they are opened from memory alone, by decoders that are listed, and put into the
 * inputs of a prompt.
 */
export const MLX_VISION_IMAGES: string = String.raw`
import base64, collections, hashlib, io
from PIL import Image, ImageOps
from mlx_vlm.prompt_utils import apply_chat_template
from mlx_vlm.utils import prepare_inputs

MOST_PIXELS = 64_000_000
# Pillow reads much more, some of it by other programs.
FORMATS = ["PNG", "JPEG", "WEBP", "GIF", "AVIF", "TIFF"]
Image.init()
READABLE = [name for name in FORMATS if name in Image.OPEN]

class Pictures:
    """What a generator makes of prompts, with images and without."""
    kept = collections.OrderedDict()
    kept_lock = threading.Lock()

    def inputs_of(self, tokens, pictures):
        if pictures is None:
            ids = mx.array([tokens])
            return {"input_ids": ids, "attention_mask": mx.array([[1] * len(tokens)])}
        inputs = self.processed(pictures["text"], pictures["images"])
        return lengthened(inputs, tokens[inputs["input_ids"].shape[1] :])

    def processed(self, text, images):
        """What a prompt with images is to the model; kept, since an answer may be asked for in several pieces."""
        name = hashlib.sha256("\0".join([text, *images]).encode()).digest()
        with self.kept_lock:
            inputs = self.kept.get(name)
        if inputs is None:
            inputs = self.prepared(text, opened(images))
        with self.kept_lock:
            self.kept[name] = inputs
            self.kept.move_to_end(name)
            while len(self.kept) > 2 * SLOTS:
                self.kept.popitem(last=False)
        return inputs

    def prepared(self, text, pictures):
        begin = self.tokenizer.bos_token
        try:
            inputs = self.prepare(text, pictures)
            ids = inputs["input_ids"].flatten().tolist()[:2]
            # The template has written it, and the processor once more.
            if begin is not None and text.startswith(begin) and ids == [self.tokenizer.bos_token_id] * 2:
                inputs = self.prepare(text.removeprefix(begin), pictures)
        except Exception as error:
            message = f"This model cannot be shown these images ({type(error).__name__}); send others, or another size."
            raise Refused(message)
        return inputs

    def prepare(self, text, pictures):
        with self._tokenizer_lock:
            inputs = prepare_inputs(
                self.processor, images=pictures, prompts=text, add_special_tokens=False,
                image_token_index=getattr(self.config, "image_token_index", None))
        # What is not computed yet could not be in another thread.
        mx.eval([value for value in inputs.values() if isinstance(value, mx.array)])
        return inputs

class Unpadded:
    """mlx_vlm's processors of LLaVA's kind hand on how texts are padded, which transformers 5.24 does not take for images."""
    def __init__(self, own):
        self.own = own

    def __call__(self, *args, padding=None, padding_side=None, **options):
        return self.own(*args, **options)

    def __getattr__(self, name):
        return getattr(self.own, name)

def without_padding(processor):
    own = getattr(processor, "image_processor", None)
    if type(processor).__module__.startswith("mlx_vlm.") and type(own).__module__.startswith("transformers."):
        processor.image_processor = Unpadded(own)

def opened(images):
    pictures, pixels = [], 0
    for index, data in enumerate(images):
        try:
            picture = Image.open(io.BytesIO(base64.b64decode(data)), formats=READABLE)
            pixels += picture.width * picture.height
            if pixels <= MOST_PIXELS:
                pictures.append(ImageOps.exif_transpose(picture).convert("RGB"))
        except Exception:
            raise Refused(f"Image {index + 1} of {len(images)} is damaged, or none that can be read here; send {', '.join(READABLE)}.")
        if pixels > MOST_PIXELS:
            message = f"The images have more than {MOST_PIXELS:,} pixels together, which is the most that is read; send smaller ones."
            raise Refused(message)
    return pictures

def lengthened(inputs, more):
    """The inputs of a prompt that goes on with tokens of its answer."""
    if not more:
        return inputs
    length = inputs["input_ids"].shape[1]
    longer = dict(inputs)
    for name, value in inputs.items():
        if not isinstance(value, mx.array) or value.shape != (1, length):
            continue
        added = more if name == "input_ids" else [1 if name == "attention_mask" else 0] * len(more)
        longer[name] = mx.array([value.tolist()[0] + added])
    return longer

def image_text(generator):
    """What stands for an image in a prompt as mlx_vlm writes it for this model, and whether several can; None where that is no text."""
    def around(count):
        config = generator.config
        return apply_chat_template(generator.processor, config, "needle", num_images=count).split("needle")
    try:
        (head, tail), (before, after) = around(0), around(1)
        text = before.removeprefix(head) or after.removesuffix(tail)
        if not text or before + after != head + text + tail:
            return None
    except Exception:
        return None
    try:
        several = "".join(around(2)) == head + text * 2 + tail
    except Exception:
        several = False
    return {"text": text, "several": several}
`
