"""Writes a folder with a model of one kind, of random weights and a tokenizer of another one: `make-random-model.py KIND TOKENIZER FOLDER`."""
import importlib, json, os, sys
import mlx.core as mx
from mlx.utils import tree_flatten
from mlx_vlm.utils import update_module_configs

KIND, SOURCE, FOLDER = sys.argv[1:4]
TEXT = dict(
    hidden_size=128, num_hidden_layers=2, intermediate_size=256, num_attention_heads=2, num_key_value_heads=1,
    vocab_size=512, rms_norm_eps=1e-6, max_position_embeddings=2048, rope_theta=1e4, tie_word_embeddings=True)
EYE = dict(num_hidden_layers=2, hidden_size=32, intermediate_size=64, num_attention_heads=2, patch_size=14)
PLACES = [f"<row_{row}_col_{column}>" for row in range(1, 5) for column in range(1, 5)]

KINDS = {
    "llava": dict(
        config=dict(
            image_token_index="<image>",
            text_config=dict(TEXT, model_type="qwen2"),
            vision_config=dict(EYE, model_type="clip_vision_model", image_size=28, projection_dim=32)),
        images=dict(
            image_processor_type="CLIPImageProcessor", size=dict(shortest_edge=28), crop_size=dict(height=28, width=28)),
        processor=dict(
            processor_class="LlavaProcessor", patch_size=14, vision_feature_select_strategy="default",
            num_additional_image_tokens=1),
        tokens=["<image>"], image="<image>\\n"),
    "gemma3": dict(
        config=dict(
            image_token_index="<image_soft_token>", hidden_size=128, mm_tokens_per_image=4,
            text_config=dict(
                TEXT, model_type="gemma3_text", head_dim=64, sliding_window=64, sliding_window_pattern=2,
                query_pre_attn_scalar=64, mm_tokens_per_image=4),
            vision_config=dict(EYE, model_type="siglip_vision_model", image_size=56)),
        images=dict(image_processor_type="Gemma3ImageProcessor", size=dict(height=56, width=56), image_seq_length=4),
        processor=dict(processor_class="Gemma3Processor", image_seq_length=4),
        tokens=["<image_soft_token>", "<start_of_image>", "<end_of_image>"], image="<start_of_image>",
        named=dict(image_token="<image_soft_token>", boi_token="<start_of_image>", eoi_token="<end_of_image>")),
    "smolvlm": dict(
        config=dict(
            image_token_id="<image>", scale_factor=2, pad_token_id=0,
            text_config=dict(TEXT, model_type="llama"),
            vision_config=dict(EYE, model_type="smolvlm_vision", image_size=56)),
        images=dict(
            image_processor_type="SmolVLMImageProcessor", size=dict(longest_edge=112),
            max_image_size=dict(longest_edge=56), do_image_splitting=True, do_resize=True, do_normalize=True,
            image_mean=[0.5] * 3, image_std=[0.5] * 3, do_pad=True, do_rescale=True),
        processor=dict(processor_class="SmolVLMProcessor", image_seq_len=4),
        tokens=["<image>", "<fake_token_around_image>", "<global-img>", *PLACES, "<end_of_utterance>"], image="<image>"),
}

TEMPLATE = """{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' }}{%- if m.content is string %}{{- m.content }}{%- else %}{%- for part in
m.content %}{%- if part.type == 'image' %}{{- 'IMAGE' }}{%- else %}{{- part.text }}{%- endif %}{%- endfor %}{%- endif %}{{- '<|im_end|>\\n' }}{%- endfor
%}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""

def read(name):
    with open(os.path.join(SOURCE, name)) as file:
        return json.load(file)

def write(name, value):
    with open(os.path.join(FOLDER, name), "w") as file:
        json.dump(value, file)

def with_ids(value, ids):
    if isinstance(value, dict):
        return {name: with_ids(inner, ids) for name, inner in value.items()}
    return ids.get(value, value) if isinstance(value, str) else value

kind = KINDS[KIND]
os.makedirs(FOLDER)
tokenizer, settings = read("tokenizer.json"), read("tokenizer_config.json")
known = tokenizer["model"]["vocab"]
ids = {token: max(known.values()) + 1 + index for index, token in enumerate(kind["tokens"])}
known.update(ids)
tokenizer["added_tokens"] += [{**tokenizer["added_tokens"][0], "id": id, "content": token} for token, id in ids.items()]
config = with_ids({**kind["config"], "model_type": KIND, "vocab_size": 512, "eos_token_id": 2}, ids)
write("tokenizer.json", tokenizer)
named = kind.get("named", {})
write("tokenizer_config.json", {
    **settings, **named, "extra_special_tokens": named, "chat_template": TEMPLATE.replace("IMAGE", kind["image"])})
write("config.json", config)
write("preprocessor_config.json", kind["images"])
write("processor_config.json", kind["processor"])
write("generation_config.json", read("generation_config.json"))

mx.random.seed(7)
package = importlib.import_module(f"mlx_vlm.models.{KIND}")
whole = {"audio_config": {}, **config}
model_config = update_module_configs(
    package.ModelConfig.from_dict(whole), package, whole, ["text", "vision", "perceiver", "projector", "audio"])
weights = dict(tree_flatten(package.Model(model_config).parameters()))
mx.save_safetensors(os.path.join(FOLDER, "model.safetensors"), weights, metadata={"format": "mlx"})
