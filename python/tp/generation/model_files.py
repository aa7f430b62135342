"""A language model of transformers in files, and what makes texts of a decode step: the tokenizer
and the tokens that end a text, in the folder of the step."""
from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from ..errors import ExportError, RunError
from ..export import require
from ..files import write_whole

_STOP = "stop.json"


def read_model(model: Any, tokenizer: Any) -> tuple[Any, Any]:
    """The module in f32, on the CPU, and its tokenizer, which is None where there is none."""
    require("torch", "torch_mlir", "transformers")
    import torch
    import transformers
    if not isinstance(model, (str, os.PathLike)):
        return model, tokenizer
    path = os.path.abspath(model)
    if not os.path.exists(path):
        raise ExportError(f"no file or folder {os.fspath(model)!r}: expected a folder or a .gguf "
                          "file of a language model")
    folder, name = os.path.split(path) if os.path.isfile(path) else (path, None)
    source = {} if name is None else {"gguf_file": name}
    if name is None and not os.path.exists(os.path.join(folder, "config.json")):
        raise ExportError(f"{os.fspath(model)}: no config.json: expected a folder that transformers "
                          "wrote, or a .gguf file")
    try:
        if tokenizer is None and (name is not None or has_tokenizer(folder)):
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **source)
        module = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32,
                                                                   **source)
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ExportError(f"{os.fspath(model)}: transformers cannot read it: {error}") from error
    return module.eval(), tokenizer


def has_tokenizer(folder: str) -> bool:
    """Whether a folder has files of a tokenizer. transformers makes one of no words without them."""
    names = ("tokenizer", "vocab", "merges", "spiece", "sentencepiece", "special_tokens", "bpe.")
    return any(name.startswith(names) or name.endswith((".model", ".tiktoken", ".spm"))
               for name in os.listdir(folder))


def stop_tokens(module: Any, tokenizer: Any) -> list[int]:
    """What the model's generation settings and the tokenizer name as the end."""
    settings = getattr(module, "generation_config", None)
    ends = [getattr(settings, "eos_token_id", None), getattr(tokenizer, "eos_token_id", None)]
    return sorted({int(token) for end in ends if end is not None
                   for token in (end if isinstance(end, (list, tuple)) else [end])})


def write_words(folder: str, tokenizer: Any, stop: Sequence[int]) -> None:
    """Writes what `read_words` reads."""
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    write_whole(os.path.join(folder, _STOP), [json.dumps(list(stop)).encode()])


def _has_words(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike)) and os.path.isdir(source) and (
        has_tokenizer(os.fspath(source)) or os.path.exists(os.path.join(source, _STOP)))


def read_words(folder: Any, tokenizer: Any) -> tuple[Any, list[int]]:
    """The tokenizer of a folder, unless one is given, and the token ids that end a text; of several
    sources of weights, that of the folder or the loaded tp.Model that export wrote. Where there is
    no folder, or it has none, there is no tokenizer. Raises RunError where they are damaged."""
    if isinstance(folder, (list, tuple)):  # several sources of weights
        parts: list[Any] = [getattr(part, "_folder", part) for part in folder]
        folders = [os.fspath(part) for part in parts if _has_words(part)]
        # One that export wrote has both.
        folders.sort(key=lambda path: not os.path.exists(os.path.join(path, _STOP)))
        folder = next(iter(folders), None)
    if not isinstance(folder, (str, os.PathLike)) or not os.path.isdir(folder):
        return tokenizer, stop_tokens(None, tokenizer)
    if tokenizer is None and has_tokenizer(os.fspath(folder)):
        try:
            import transformers
        except ImportError as error:
            raise RunError(f"{os.fspath(folder)}: its tokenizer needs the package transformers: "
                           f"{error}: install it, or take token ids: tp.generation.sample("
                           "tp.load(path, weights), ids, count, sampler)") from error
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(os.path.abspath(folder))
        except (OSError, ValueError, ImportError, KeyError) as error:
            raise RunError(f"{os.fspath(folder)}: transformers cannot read the tokenizer: {error}",
                           code=3) from error
    path = os.path.join(folder, _STOP)
    if not os.path.exists(path):
        return tokenizer, stop_tokens(None, tokenizer)
    try:
        with open(path, encoding="utf-8") as file:
            return tokenizer, [int(token) for token in json.load(file)]
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}", code=2) from error
    except (ValueError, TypeError) as error:
        raise RunError(f"{path}: expected a list of token ids", code=3) from error
