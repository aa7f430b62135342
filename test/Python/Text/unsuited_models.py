"""Models of transformers whose texts a decode step does not follow are refused, and settings that it
does not follow are named. A line for each."""
from __future__ import annotations

import warnings
from typing import Any

import torch
import transformers

import tp
from tp.generation import decode_step
from tp.generation.text import TextModel

SIZES: dict[str, Any] = {
    "vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 2, "max_position_embeddings": 64}


def gpt_neo() -> Any:
    """A model whose local attention is computed of the length of the cache."""
    return transformers.GPTNeoForCausalLM(transformers.GPTNeoConfig(
        vocab_size=40, hidden_size=16, num_layers=2, num_heads=2, intermediate_size=24,
        attention_types=[[["global", "local"], 1]], window_size=4, max_position_embeddings=64,
        initializer_range=0.4, bos_token_id=0, eos_token_id=0))


def long_rope() -> Any:
    """A model with other factors for texts of more than 16 tokens."""
    factors: dict[str, Any] = {
        "rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [4.0] * 4,
        "rope_theta": 10000.0, "original_max_position_embeddings": 16}
    return transformers.Phi3ForCausalLM(transformers.Phi3Config(
        **SIZES, rope_parameters=factors, original_max_position_embeddings=16, pad_token_id=0,
        bos_token_id=0, eos_token_id=0))


def llama(dropout: float = 0.0, **settings: Any) -> Any:
    """A model with settings for its texts."""
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        **SIZES, eos_token_id=None, attention_dropout=dropout))
    model.generation_config = transformers.GenerationConfig(pad_token_id=0, **settings)
    return model


def refused(make: Any) -> None:
    """Prints the error of a call."""
    try:
        make()
    except tp.Error as error:
        print(f"{type(error).__name__}: {error}")
    else:
        print("taken")


def main() -> None:
    torch.manual_seed(0)
    transformers.logging.set_verbosity_error()
    refused(lambda: decode_step(gpt_neo().eval(), 16))
    refused(lambda: decode_step(gpt_neo().eval(), 4))
    refused(lambda: decode_step(long_rope().eval(), 17))
    refused(lambda: decode_step(long_rope().eval(), 16))
    refused(lambda: decode_step(llama(dropout=0.5).train(), 8))
    refused(lambda: list(tp.generate(llama().eval(), [1] * 64)))
    for settings in ({"repetition_penalty": 1.5, "num_beams": 3, "suppress_tokens": [1]},
                     {"do_sample": True, "temperature": 0.6, "top_p": 0.9}):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            TextModel(llama(**settings).eval(), length=8, prefill=[])
        print([str(each.message) for each in said if "generation_config" in str(each.message)])


if __name__ == "__main__":
    main()
