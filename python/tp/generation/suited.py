"""Which models and settings of transformers a decode step does not follow."""
from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import ExportError

# Settings of a generation_config that tp has nothing for, and their values that change no text. The
# values None and those of no items change none either.
_NOT_FOLLOWED: dict[str, object] = {
    "bad_words_ids": None, "begin_suppress_tokens": None, "constraints": None,
    "diversity_penalty": 0.0, "encoder_no_repeat_ngram_size": 0,
    "encoder_repetition_penalty": 1.0, "epsilon_cutoff": 0.0, "eta_cutoff": 0.0,
    "exponential_decay_length_penalty": None, "force_words_ids": None,
    "forced_bos_token_id": None, "forced_eos_token_id": None, "guidance_scale": 1.0,
    "max_time": None, "min_length": 0, "min_new_tokens": None, "min_p": None,
    "no_repeat_ngram_size": 0, "num_beams": 1, "penalty_alpha": None,
    "repetition_penalty": 1.0, "sequence_bias": None, "stop_strings": None,
    "suppress_tokens": None, "top_h": None, "typical_p": 1.0, "watermarking_config": None,
}


def warn_of_settings(module: Any) -> None:
    """Warns of the settings of the model's `generation_config` that change what transformers
    writes, and not what tp writes."""
    settings = getattr(module, "generation_config", None)
    ignored = [f"{name}={value!r}" for name, neutral in _NOT_FOLLOWED.items()
               if (value := getattr(settings, name, None)) not in (None, neutral, [], {})]
    if ignored:
        warnings.warn("tp does not follow these settings of the model's generation_config, with which "
                      f"transformers writes other texts: {', '.join(ignored)}", stacklevel=3)


def _rope_settings(config: Any) -> Iterator[Mapping[str, Any]]:
    """What a config says of rotary embeddings; some have one for each type of layer."""
    for name in ("rope_parameters", "rope_scaling"):
        settings = getattr(config, name, None)
        if isinstance(settings, Mapping):
            yield settings
            yield from (inner for inner in settings.values() if isinstance(inner, Mapping))


def check_length(config: Any, length: int) -> None:
    """Refuses texts for which the model's rotary embeddings change with the length: keys in a cache
    cannot follow. Raises ExportError."""
    for rope in _rope_settings(config):
        if "longrope" not in (rope.get("rope_type"), rope.get("type")):
            continue
        most = (rope.get("original_max_position_embeddings")
                or getattr(config, "original_max_position_embeddings", None))
        if most is not None and length > most:
            raise ExportError(f"decode_step: length: the model's longrope has other factors for texts "
                              f"of more than {most} tokens, which the keys of earlier tokens would "
                              f"need too: expected at most {most}, got {length}")


def check_logits(module: Any, tokens: Any, cached: Any) -> None:
    """Refuses a model that computes other logits of its first token with a static cache, which are
    `cached`, than without. Raises ExportError."""
    import torch
    plain = module(input_ids=tokens, use_cache=False).logits.double()
    if not torch.allclose(cached.double(), plain, 0, 0.02 * float(plain.abs().nan_to_num().max()),
                          equal_nan=True):
        if module.training:
            raise ExportError("decode_step: the module is in training mode, in which it leaves values "
                              "out at random: call module.eval() first")
        raise ExportError(f"decode_step: {type(module).__name__} computes other logits with "
                          "transformers' static cache than without a cache: export a function of "
                          "states of your own with tp.export")
