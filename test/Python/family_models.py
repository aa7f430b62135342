"""Small models of transformers' families, with random weights, inputs and plans for them."""
from __future__ import annotations

import functools
import os
import re
import subprocess
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import torch
import transformers

import tp
from tp.styles import STYLE_NAMES

# Megatron's plan by the names that several families share: pattern -> style.
LLAMA = {"*.q_proj": "colwise", "*.k_proj": "colwise", "*.v_proj": "colwise", "*.o_proj": "rowwise",
         "*.gate_proj": "colwise", "*.up_proj": "colwise", "*.down_proj": "rowwise"}
VIT = {"*.q_proj": "colwise", "*.k_proj": "colwise", "*.v_proj": "colwise", "*.o_proj": "rowwise",
       "*.fc1": "colwise", "*.fc2": "rowwise"}
BERT = {"*.query": "colwise", "*.key": "colwise", "*.value": "colwise",
        "*.attention.output.dense": "rowwise", "*.intermediate.dense": "colwise",
        "*.[0-9].output.dense": "rowwise"}
GPT2 = {"*.c_attn": "colwise", "*.attn.c_proj": "rowwise", "*.c_fc": "colwise",
        "*.mlp.c_proj": "rowwise"}
OPT = {"*.q_proj": "colwise", "*.k_proj": "colwise", "*.v_proj": "colwise",
       "*.out_proj": "rowwise", "*.fc1": "colwise", "*.fc2": "rowwise"}
NEOX = {"*.query_key_value": "colwise", "*.attention.dense": "rowwise",
        "*.self_attention.dense": "rowwise", "*.dense_h_to_4h": "colwise",
        "*.dense_4h_to_h": "rowwise"}
PHI = {**OPT, "*.self_attn.dense": "rowwise"}
T5 = {"*.q": "colwise", "*.k": "colwise", "*.v": "colwise", "*.o": "rowwise", "*.wi": "colwise",
      "*.wi_0": "colwise", "*.wi_1": "colwise", "*.wo": "rowwise"}
MPT = {"*.Wqkv": "colwise", "*.out_proj": "rowwise", "*.up_proj": "colwise",
       "*.down_proj": "rowwise"}
ALBERT = {"*.query": "colwise", "*.key": "colwise", "*.value": "colwise",
          "*.attention.dense": "rowwise", "*.ffn": "colwise", "*.ffn_output": "rowwise"}
DEBERTA = {**BERT, "*.query_proj": "colwise", "*.key_proj": "colwise", "*.value_proj": "colwise"}
MPNET = {**BERT, "*.attn.q": "colwise", "*.attn.k": "colwise", "*.attn.v": "colwise",
         "*.attn.o": "rowwise"}
MODERNBERT = {"*.Wqkv": "colwise", "*.Wo": "rowwise", "*.Wi": "colwise"}
DISTILBERT = {"*.q_lin": "colwise", "*.k_lin": "colwise", "*.v_lin": "colwise",
              "*.out_lin": "rowwise", "*.lin1": "colwise", "*.lin2": "rowwise"}

TEXT = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 256,
        "intermediate_size": 128, "max_position_embeddings": 64, "pad_token_id": 0,
        "bos_token_id": 1, "eos_token_id": 2}
GROUPED = {**TEXT, "num_key_value_heads": 2, "head_dim": 16}
GPT_SIZES = {**TEXT, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64}
EXPERTS = {**GROUPED, "num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2,
           "moe_intermediate_size": 64, "shared_expert_intermediate_size": 64}
LATENT = {**EXPERTS, "n_routed_experts": 4, "num_key_value_heads": 4, "n_group": 1, "topk_group": 1,
          "kv_lora_rank": 16, "q_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8,
          "v_head_dim": 16, "first_k_dense_replace": 1, "head_dim": 8}
IMAGE = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 128, "image_size": 32, "patch_size": 8}
T5_SIZES = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_decoder_layers": 2,
            "num_heads": 4, "vocab_size": 256, "decoder_start_token_id": 0}
BART_SIZES = {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
              "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128,
              "vocab_size": 256, "max_position_embeddings": 64}


# Sizes that say how many layers there are.
DEPTHS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers",
          "encoder_layers", "decoder_layers")


@dataclass(frozen=True)
class Family:
    """A model: transformers' class, the sizes of its config, and what it is called with.

    deeper: sizes of the model with one layer more, beside those of DEPTHS.
    beside: a layer adds its feed-forward block's result to attention's, not after it.
    """
    model: str
    sizes: dict[str, Any]
    megatron: dict[str, str] = field(default_factory=dict)
    inputs: str = "text"
    ci: bool = False
    deeper: dict[str, Any] = field(default_factory=dict)
    beside: bool = False


def text() -> dict[str, torch.Tensor]:
    """Two rows of 16 tokens, without the special ones."""
    return {"input_ids": torch.randint(3, 256, (2, 16))}


def text_pair() -> dict[str, torch.Tensor]:
    """Tokens for an encoder and a decoder."""
    return {"input_ids": torch.randint(3, 256, (2, 16)),
            "decoder_input_ids": torch.randint(3, 256, (2, 8))}


def masked_text() -> dict[str, torch.Tensor]:
    """Tokens of which the second row has padding at its end."""
    mask = torch.ones(2, 16, dtype=torch.int64)
    mask[1, 11:] = 0
    return {**text(), "attention_mask": mask}


def image() -> dict[str, torch.Tensor]:
    """Two images of 32 times 32."""
    return {"pixel_values": torch.randn(2, 3, 32, 32)}


INPUTS = {"text": text, "pair": text_pair, "masked": masked_text, "image": image}

FAMILIES: dict[str, Family] = {
    "llama": Family("LlamaForCausalLM", GROUPED, LLAMA, ci=True),
    "gpt2": Family("GPT2LMHeadModel", GPT_SIZES, GPT2, ci=True),
    "bert": Family("BertModel", TEXT, BERT, "masked", ci=True),
    "qwen3": Family("Qwen3ForCausalLM", GROUPED, LLAMA, ci=True),
    "mistral": Family("MistralForCausalLM", {**GROUPED, "sliding_window": 8}, LLAMA, ci=True),
    "t5": Family("T5ForConditionalGeneration", T5_SIZES, T5, "pair", ci=True),
    "mixtral": Family("MixtralForCausalLM", EXPERTS, LLAMA, ci=True),
    "vit": Family("ViTModel", IMAGE, VIT, "image", ci=True),
    "opt": Family("OPTForCausalLM", {**TEXT, "ffn_dim": 128, "word_embed_proj_dim": 64}, OPT,
                  ci=True),
    "phi": Family("PhiForCausalLM", TEXT, PHI, ci=True, beside=True),
    "falcon": Family("FalconForCausalLM", {**TEXT, "new_decoder_architecture": False,
                                           "multi_query": True}, NEOX, ci=True, beside=True),
    "bloom": Family("BloomForCausalLM", {**TEXT, "n_layer": 2, "n_head": 4}, NEOX, ci=True),
    "gemma": Family("GemmaForCausalLM", GROUPED, LLAMA),
    "gemma2": Family("Gemma2ForCausalLM", GROUPED, LLAMA),
    "gemma3": Family("Gemma3ForCausalLM", {**GROUPED, "sliding_window": 8}, LLAMA),
    "qwen2": Family("Qwen2ForCausalLM", GROUPED, LLAMA),
    "qwen2-moe": Family("Qwen2MoeForCausalLM", EXPERTS, LLAMA),
    "qwen3-moe": Family("Qwen3MoeForCausalLM", EXPERTS, LLAMA),
    "olmo": Family("OlmoForCausalLM", GROUPED, LLAMA),
    "olmo2": Family("Olmo2ForCausalLM", GROUPED, LLAMA),
    "olmoe": Family("OlmoeForCausalLM", EXPERTS, LLAMA),
    "phi3": Family("Phi3ForCausalLM", GROUPED, LLAMA),
    "phimoe": Family("PhimoeForCausalLM", EXPERTS, LLAMA),
    "stablelm": Family("StableLmForCausalLM", GROUPED, LLAMA),
    "starcoder2": Family("Starcoder2ForCausalLM", GROUPED, GPT2),
    "gpt-neox": Family("GPTNeoXForCausalLM", TEXT, NEOX, beside=True),
    "gpt-neo": Family("GPTNeoForCausalLM", {
        **TEXT, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]]},
        {**OPT, **GPT2}, deeper={"attention_types": [[["global", "local", "global"], 1]]}),
    "gptj": Family("GPTJForCausalLM", {**GPT_SIZES, "rotary_dim": 8},
                   {**OPT, "*.fc_in": "colwise", "*.fc_out": "rowwise"}, beside=True),
    "gpt-bigcode": Family("GPTBigCodeForCausalLM", GPT_SIZES, GPT2),
    "gpt-oss": Family("GptOssForCausalLM", EXPERTS, LLAMA),
    "codegen": Family("CodeGenForCausalLM", {**GPT_SIZES, "rotary_dim": 8}, beside=True),
    "mpt": Family("MptForCausalLM", {**TEXT, "d_model": 64, "n_layers": 2, "n_heads": 4,
                                     "max_seq_len": 64}, MPT),
    "cohere": Family("CohereForCausalLM", GROUPED, LLAMA, beside=True),
    "cohere2": Family("Cohere2ForCausalLM", GROUPED, LLAMA, beside=True),
    "granite": Family("GraniteForCausalLM", GROUPED, LLAMA),
    "granite-moe": Family("GraniteMoeForCausalLM", EXPERTS, LLAMA),
    "glm": Family("GlmForCausalLM", GROUPED, LLAMA),
    "glm4": Family("Glm4ForCausalLM", GROUPED, LLAMA),
    "helium": Family("HeliumForCausalLM", GROUPED, LLAMA),
    "smollm3": Family("SmolLM3ForCausalLM", GROUPED, LLAMA),
    "nemotron": Family("NemotronForCausalLM", GROUPED, LLAMA),
    "persimmon": Family("PersimmonForCausalLM", TEXT,
                        {**NEOX, "*.self_attn.dense": "rowwise"}),
    "biogpt": Family("BioGptForCausalLM", TEXT, OPT),
    "xglm": Family("XGLMForCausalLM", {**TEXT, "d_model": 64, "num_layers": 2, "ffn_dim": 128,
                                       "attention_heads": 4}, OPT),
    "deepseek-v2": Family("DeepseekV2ForCausalLM", LATENT, LLAMA),
    "deepseek-v3": Family("DeepseekV3ForCausalLM", LATENT, LLAMA),
    "exaone4": Family("Exaone4ForCausalLM", GROUPED, LLAMA),
    "ernie4-5": Family("Ernie4_5ForCausalLM", GROUPED, LLAMA),
    "arcee": Family("ArceeForCausalLM", GROUPED, LLAMA),
    "apertus": Family("ApertusForCausalLM", GROUPED, LLAMA),
    "seed-oss": Family("SeedOssForCausalLM", GROUPED, LLAMA),
    "hunyuan": Family("HunYuanDenseV1ForCausalLM", GROUPED, LLAMA),
    "bitnet": Family("BitNetForCausalLM", GROUPED, LLAMA),
    "diffllama": Family("DiffLlamaForCausalLM", GROUPED, LLAMA),
    "roberta": Family("RobertaModel", TEXT, BERT, "masked"),
    "electra": Family("ElectraModel", {**TEXT, "embedding_size": 64}, BERT, "masked"),
    "distilbert": Family("DistilBertModel", {
        **TEXT, "dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128}, DISTILBERT, "masked"),
    "albert": Family("AlbertModel", {**TEXT, "embedding_size": 32}, ALBERT, "masked"),
    "camembert": Family("CamembertModel", TEXT, BERT, "masked"),
    "mpnet": Family("MPNetModel", TEXT, MPNET, "masked"),
    "modernbert": Family("ModernBertModel", {
        **TEXT, "local_attention": 8, "cls_token_id": 1, "sep_token_id": 2}, MODERNBERT, "masked"),
    "deberta-v2": Family("DebertaV2Model", {
        **TEXT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}, DEBERTA, "masked"),
    "nystromformer": Family("NystromformerModel", {
        **TEXT, "segment_means_seq_len": 16, "num_landmarks": 16}, BERT),
    "fnet": Family("FNetModel", TEXT, {}, "text"),
    "xlm-roberta": Family("XLMRobertaModel", TEXT, BERT, "masked"),
    "bart": Family("BartModel", BART_SIZES, OPT, "pair"),
    "mbart": Family("MBartModel", BART_SIZES, OPT, "pair"),
    "pegasus": Family("PegasusModel", BART_SIZES, OPT, "pair"),
    "marian": Family("MarianModel", {**BART_SIZES, "pad_token_id": 0}, OPT, "pair"),
    "m2m-100": Family("M2M100Model", {**BART_SIZES, "pad_token_id": 0}, OPT, "pair"),
    "mt5": Family("MT5ForConditionalGeneration", T5_SIZES, T5, "pair"),
    "umt5": Family("UMT5ForConditionalGeneration", T5_SIZES, T5, "pair"),
    "deit": Family("DeiTModel", IMAGE, VIT, "image"),
    "beit": Family("BeitModel", IMAGE, VIT, "image"),
    "dinov2": Family("Dinov2Model", IMAGE, VIT, "image"),
    "siglip": Family("SiglipVisionModel", IMAGE, OPT, "image"),
    "clip": Family("CLIPVisionModel", IMAGE, OPT, "image"),
    "swin": Family("SwinModel", {
        "image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4],
        "window_size": 4}, VIT, "image", deeper={"depths": [3, 3]}),
    "convnext": Family("ConvNextModel", {
        "hidden_sizes": [16, 32], "depths": [2, 2], "num_stages": 2}, {}, "image",
        deeper={"depths": [3, 3]}),
    "resnet": Family("ResNetModel", {
        "embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1]}, {}, "image",
        deeper={"depths": [2, 2]}),
    "mamba": Family("MambaForCausalLM", {**TEXT, "state_size": 8}),
    "rwkv": Family("RwkvForCausalLM", {**TEXT, "attention_hidden_size": 64, "context_length": 64}),
    "recurrent-gemma": Family("RecurrentGemmaForCausalLM", {
        **GROUPED, "lru_width": 64, "attention_window_size": 16}),
}


def build(name: str, is_deeper: bool = False) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """The family's model in evaluation mode, or that with a layer more, and the arguments of a
    call."""
    family = FAMILIES[name]
    torch.manual_seed(0)
    kind = getattr(transformers, family.model)
    sizes = family.sizes
    if is_deeper:
        depths = {key: sizes[key] + 1 for key in DEPTHS if key in sizes}
        sizes = {**sizes, **depths, **family.deeper}
    config = kind.config_class(**sizes)
    config.use_cache = False  # a cache that the model makes itself is no result of tp.export
    model = kind(config).eval()
    return model, INPUTS[family.inputs]()


@dataclass
class SavedModel:
    """A module, the arguments of a call, and its export in a folder."""
    name: str
    module: torch.nn.Module
    inputs: dict[str, Any]
    model: tp.Model
    folder: str

    def plans(self) -> dict[str, dict[str, str]]:
        """The entries of each plan to try, `auto` last."""
        own = self.model.own_plan or {}
        result = {}
        if own and set(own.values()) <= set(STYLE_NAMES):
            result["own"] = own
        else:
            if entries := megatron(FAMILIES[self.name].megatron,
                                   [name for name, _ in self.module.named_modules()]):
                result["megatron"] = entries
            result["transformer"] = self.found_entries
        return {**result, "auto": {}}

    @functools.cached_property
    def found_entries(self) -> dict[str, str]:
        """What `transformer` finds in the model: the styles of its modules; none if it refuses."""
        written = subprocess.run(["tp-compile", f"{self.folder}/model.mlir", "--plan=transformer",
                                  "--mesh=tp=4", "--write-plan=-", f"--report={os.devnull}"],
                                 capture_output=True, text=True, check=False).stdout
        return dict(re.findall(r'tp.parallelize "([^"]*)" with (\w+)', written))

    def plan_argument(self, plan: str) -> str:
        """What --plan of tp-compile gets: the path of a file that this writes, or a word."""
        if plan in ("auto", "transformer"):
            return plan
        entries = self.plans()[plan]
        path = f"{self.folder}/{plan}.plan.mlir"
        with open(path, "w", encoding="utf-8") as file:
            file.write(plan_text(entries))
        return path


def saved_model(name: str, folder: str, is_deeper: bool = False) -> SavedModel:
    """The family's model, exported to the folder. Raises tp.ExportError."""
    module, inputs = build(name, is_deeper)
    model = tp.export(module, (), inputs)
    os.makedirs(folder, exist_ok=True)
    model.save(folder)
    return SavedModel(name, module, inputs, model, folder)


def plan_text(entries: dict[str, str]) -> str:
    """A plan file of these entries."""
    lines = [f'  tp.parallelize "{pattern}" with {style}' for pattern, style in entries.items()]
    return "\n".join(['#mesh = #tp.mesh<"tp" = 2>', 'tp.plan @model on #mesh["tp"] {', *lines, "}",
                      ""])


def megatron(patterns: dict[str, str], names: list[str]) -> dict[str, str]:
    """Styles of the modules whose whole names match the patterns."""
    return {name: style for name in names for pattern, style in patterns.items()
            if fnmatchcase(name, pattern)}
