"""tp.generate against transformers' own generate: a small model of several families, a byte-level
tokenizer, a chat template. Then sampling, and what is refused.

    text.py FOLDER
"""
from __future__ import annotations

import functools
import sys
import warnings
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import tp
from tp.generation import decode_step, greedy
from tp.generation.sampling import Sampler
from tp.generation.steps import CACHE

TOKENS = 12
TEMPLATE = "{% for message in messages %}[{{ message['content'] }}]{% endfor %}"


def byte_tokenizer(words: list[str] | None = None, **more: Any) -> Any:
    """A token for every byte: characters of several bytes come in pieces. Or one for each word."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet()) if words is None else words
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **more)


def families() -> dict[str, Any]:
    """Small models with random weights, spread so that the text varies."""
    small = {"vocab_size": 256, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
             "initializer_range": 0.5, "bos_token_id": None, "eos_token_id": None,
             "pad_token_id": 0}
    return {
        "llama": transformers.LlamaConfig(**small),
        "qwen3": transformers.Qwen3Config(**small, head_dim=8, tie_word_embeddings=True),
        "gpt2": transformers.GPT2Config(vocab_size=256, n_embd=32, n_layer=2, n_head=4,
                                        n_positions=64, initializer_range=0.5, bos_token_id=None,
                                        eos_token_id=None, pad_token_id=0),
        # The text is longer than their windows.
        "mistral": transformers.MistralConfig(**small, sliding_window=6),
        "gemma3": transformers.Gemma3TextConfig(
            **{**small, "hidden_size": 64}, head_dim=16, sliding_window=6, query_pre_attn_scalar=1,
            tie_word_embeddings=False, layer_types=["sliding_attention", "full_attention"]),
        "mixtral": transformers.MixtralConfig(**small, num_local_experts=4, num_experts_per_tok=2),
    }


# A prompt that is longer than the windows, which entries of several lengths read.
LONG = "a prompt beyond windows"


def check_windows(name: str, module: Any, tokenizer: Any) -> None:
    """The layers with a window hold that and nothing else. Texts are equal where the window fills
    within the prompt, within a part of it, and behind it."""
    layers = getattr(module.config, "layer_types", None) or ["sliding_attention"] * 2
    model = decode_step(module, 60, prefill=[8])
    held = {port.name: port.shape[2] for port in model.results if port.name.endswith(".keys")}
    assert held == {f"{CACHE}.{i}.keys": 6 if kind == "sliding_attention" else 60
                    for i, kind in enumerate(layers)}, held
    ids = tokenizer(LONG)["input_ids"]
    with tp.compile(model, plan="hf", mesh={"tp": 2}) as program:
        for length in (1, 6, 10, len(ids)):
            found = list(greedy(program, ids[:length], TOKENS))
            with torch.no_grad():
                given = torch.tensor([ids[:length]])
                right = module.generate(given, attention_mask=torch.ones_like(given),
                                        do_sample=False, max_new_tokens=TOKENS)[0, length:]
            assert found == right.tolist(), f"{name}, {length} tokens: {found} is not {right}"


def expected_text(module: Any, tokenizer: Any, ids: list[int], count: int) -> str:
    given = torch.tensor([ids])
    with torch.no_grad():
        made = module.generate(given, attention_mask=torch.ones_like(given), do_sample=False,
                               max_new_tokens=count)
    text: str = tokenizer.decode(made[0, len(ids):], skip_special_tokens=True)
    return text


def check_families() -> None:
    tokenizer = byte_tokenizer()
    for name, config in families().items():
        torch.manual_seed(1)
        module = transformers.AutoModelForCausalLM.from_config(config).eval()
        if name in ("mistral", "gemma3"):
            check_windows(name, module, tokenizer)
            print(f"{name}: equal")
            continue
        expected = expected_text(module, tokenizer, tokenizer("abc")["input_ids"], TOKENS)
        # With parts of the prompt, and token by token.
        for mesh, prefill in (({"tp": 2}, None), (None, []))[:2 if name == "llama" else 1]:
            found = list(tp.generate(module, "abc", tokenizer=tokenizer, mesh=mesh,
                                     plan="auto" if name == "gpt2" else None, prefill=prefill,
                                     max_new_tokens=TOKENS))
            assert "".join(found) == expected, f"{name}, {mesh}: {found} is not {expected!r}"
        print(f"{name}: equal")


def check_folder(folder: str) -> None:
    """A folder with a chat template and a stop token; several prompts of one compiled model."""
    torch.manual_seed(2)
    module = transformers.LlamaForCausalLM(families()["llama"]).eval()
    tokenizer = byte_tokenizer(chat_template=TEMPLATE)
    chat = tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], return_dict=True)
    whole = expected_text(module, tokenizer, chat["input_ids"], TOKENS)
    with torch.no_grad():
        tokens = module.generate(torch.tensor([chat["input_ids"]]), do_sample=False,
                                 max_new_tokens=TOKENS)[0, len(chat["input_ids"]):].tolist()
    end = next(token for token in tokens[3:] if token not in tokens[:3])
    module.generation_config.eos_token_id = [end]
    module.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    with tp.TextModel(folder, mesh={"tp": 2}, length=24) as model:
        stopped = "".join(model.stream("hi", TOKENS))
        until = tokenizer.decode(tokens[:tokens.index(end) + 1])
        assert whole.startswith(stopped) and stopped == until, f"{stopped!r} is not {until!r}"
        message = [{"role": "user", "content": "hi"}]
        assert "".join(model.stream(message, TOKENS)) == stopped
        assert "".join(model.stream(chat["input_ids"], TOKENS)) == stopped
        one = "".join(model.stream("hi", TOKENS, Sampler(1.5, seed=7)))
        assert one == "".join(model.stream("hi", TOKENS, Sampler(1.5, seed=7)))
        assert one != "".join(model.stream("hi", TOKENS, Sampler(1.5, seed=8)))
    other = "".join(tp.generate(folder, "hi", mesh={"tp": 3}, max_new_tokens=TOKENS,
                                temperature=1.5, seed=7, prefill=[], launch="process",
                                timeout=600.0))
    assert one == other, f"3 ranks choose {other!r}, 2 ranks {one!r}"
    print("folder: equal")


def check_without_tokenizer(folder: str) -> None:
    """Token ids in, token ids out: of a module, of a folder, one prompt and several."""
    torch.manual_seed(2)
    module = transformers.LlamaForCausalLM(families()["llama"]).eval()
    module.save_pretrained(folder)
    prompts = [[7, 8, 9], [5, 6, 7]]
    with torch.no_grad():
        right = module.generate(torch.tensor(prompts), do_sample=False,
                                max_new_tokens=TOKENS)[:, 3:].tolist()
    for model in (module, folder):
        found = list(tp.generate(model, prompts[0], mesh={"tp": 2}, max_new_tokens=TOKENS))
        assert found == right[0], f"{found} is not {right[0]}"
    with tp.TextModel(folder, length=16, batch=2, prefill=[]) as text_model:
        assert text_model.token_lists(prompts, TOKENS) == right
        assert list(text_model.tokens(prompts[1], TOKENS)) == right[1]
        refused = {
            "stream": (prompts[0], "there is no tokenizer that makes a text of token ids: give "
                       "TextModel tokenizer=, or take the ids, text_model.tokens(...)"),
            "texts": (prompts, "there is no tokenizer that makes a text of token ids: give "
                      "TextModel tokenizer=, or take the ids, text_model.token_lists(...)"),
            "tokens": (prompts[0] * 5, "the prompt of 15 tokens and 12 more do not fit the length "
                       "of 16 tokens: write max_new_tokens=2, or make the TextModel, or the model "
                       "of decode_step, with length=26 or more"),
            "token_lists": (prompts * 2, "expected at most 2 prompts, got 4: make the TextModel, or "
                            "the model of decode_step, with batch=4"),
        }
        for name, (prompt, message) in refused.items():
            try:
                getattr(text_model, name)(prompt, TOKENS)
            except tp.RunError as error:
                assert str(error) == message, f"{name}: {error}"
            else:
                raise AssertionError(f"not refused: {name}")
    assert tp.generate(module, prompts, max_new_tokens=TOKENS) == right
    print("without tokenizer: equal")


def check_other_name() -> None:
    """A later transformers warns of the cache's name: no warning of a decode step."""
    module = transformers.LlamaForCausalLM(families()["llama"]).eval()
    forward = module.forward

    @functools.wraps(forward)
    def warned(*args: Any, **kwargs: Any) -> Any:
        if CACHE in kwargs:
            warnings.warn(f"`{CACHE}` is deprecated and will be removed in version 5.40.0 for "
                          "`LlamaForCausalLM.forward`. Use `cache` instead.", FutureWarning)
        return forward(*args, **kwargs)
    module.forward = warned
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        decode_step(module, 8)
    print("name of the cache: no warning")


def check_sampling() -> None:
    """Shares of 4,000 choices against the probabilities, under each limit."""
    logits = np.array([1.0, 3.0, 2.0, 3.0, -np.inf], np.float32)

    def shares(**limits: Any) -> np.ndarray:
        sampler = Sampler(**limits)
        found: np.ndarray = np.bincount([sampler(logits) for _ in range(4000)], minlength=5) / 4000
        return found

    def softmax(x: np.ndarray) -> np.ndarray:
        weights: np.ndarray = np.exp(x - x.max())
        return weights / weights.sum()

    def near(a: np.ndarray, b: np.ndarray) -> bool:
        return bool(np.abs(a - b).max() < 0.03)
    assert near(shares(temperature=1.0), softmax(logits))
    assert near(shares(temperature=2.0), softmax(logits / 2))
    assert near(shares(temperature=1.0, top_k=2), np.array([0, .5, 0, .5, 0]))
    assert near(shares(temperature=1.0, top_k=1), np.array([0, 1, 0, 0, 0]))
    # The first two have 0.79 of the sum, the third makes it 0.95.
    assert near(shares(temperature=1.0, top_p=0.7), np.array([0, .5, 0, .5, 0]))
    assert shares(temperature=1.0, top_p=0.9)[[0, 4]].sum() == 0
    assert near(shares(temperature=1.0, top_p=1.0), softmax(logits))
    assert shares()[1] == 1
    print("sampling: as expected")


def check_refusals(folder: str) -> None:
    module = transformers.LlamaForCausalLM(families()["llama"]).eval()
    plain, text = byte_tokenizer(), "hi"
    cases: list[tuple[str, type[Exception], Any, Any, dict[str, Any]]] = [
        ("no file or folder 'none'", tp.ExportError, "none", text, {}),
        ("no config.json", tp.ExportError, "/", text, {}),
        ("prompt: got a text, which needs a tokenizer: give tokenizer=, or token ids as the prompt",
         tp.RunError, module, text, {}),
        ("prompt 0: got a text, which needs a tokenizer", tp.RunError, module, [text], {}),
        ("got a list of messages, which needs a tokenizer", tp.RunError, module,
         [{"role": "user", "content": "a"}], {}),
        ("a tokenizer whose vocabulary is empty", tp.RunError, module, text,
         {"tokenizer": byte_tokenizer(words=[], eos_token="</s>")}),
        ("prompt: the tokenizer makes no token of it", tp.RunError, module, text,
         {"tokenizer": byte_tokenizer(words=["x", "y"])}),
        ("the prompt is empty", tp.RunError, module, "", {"tokenizer": plain}),
        ("got an empty list", tp.RunError, module, [], {"tokenizer": plain}),
        ("got a list with float 1.5", tp.RunError, module, [1, 1.5], {"tokenizer": plain}),
        ("got a list with bool True", tp.RunError, module, [True], {"tokenizer": plain}),
        ("got int", tp.RunError, module, 7, {"tokenizer": plain}),
        ("prompt 1: expected a text as prompt 0 is, got a list of token ids", tp.RunError, module,
         ["a", [1]], {"tokenizer": plain}),
        ("prompt 0: expected a text, a list of messages or a list of token ids, got int 5",
         tp.RunError, module, [5, "a"], {"tokenizer": plain}),
        ("prompt 1: the prompt is empty", tp.RunError, module, ["a", ""], {"tokenizer": plain}),
        ("prompt 1: expected a text, a list of messages or a list of token ids, got an empty list",
         tp.RunError, module, [[1], []], {"tokenizer": plain}),
        ("token 0 of prompt 1: expected an id from 0 to 255, got -1", tp.RunError, module,
         [[1, 2], [-1]], {"tokenizer": plain, "max_new_tokens": 2}),
        ("a prompt of 60 tokens and 5 behind it are 65, the model has 64 positions: write "
         "max_new_tokens=4", tp.RunError, module, ["a", "b" * 60],
         {"tokenizer": plain, "max_new_tokens": 5}),
        ("no chat template", tp.RunError, module, [{"role": "user", "content": "a"}],
         {"tokenizer": plain}),
        ("token 1 of the prompt: expected an id from 0 to 255, got 256", tp.RunError, module,
         [1, 256], {"tokenizer": plain, "max_new_tokens": 2}),
        ("the model has 64 positions", tp.RunError, module, text,
         {"tokenizer": plain, "max_new_tokens": 63}),
        ("the model has 64 positions: shorten the prompt", tp.RunError, module, "a" * 64,
         {"tokenizer": plain, "max_new_tokens": 1}),
        ("no option 'nonsense'", tp.CompileError, module, text,
         {"tokenizer": plain, "max_new_tokens": 2, "nonsense": 1}),
        ("option weight_storage: expected 'f16' or 'bf16', got 'f8'", tp.CompileError, module, text,
         {"tokenizer": plain, "max_new_tokens": 2, "weight_storage": "f8"}),
        ("max_new_tokens: expected", tp.RunError, module, text,
         {"tokenizer": plain, "max_new_tokens": 0}),
        ("temperature: expected", tp.RunError, module, text, {"temperature": -1}),
        ("temperature: expected", tp.RunError, module, text, {"temperature": float("nan")}),
        ("top_k: expected", tp.RunError, module, text, {"top_k": 0}),
        ("top_k: nothing is drawn at temperature 0", tp.RunError, module, text, {"top_k": 3}),
        ("top_p: expected", tp.RunError, module, text, {"top_p": 0.0}),
        ("top_p: expected", tp.RunError, module, text, {"top_p": 1.5}),
        ("seed: expected", tp.RunError, module, text, {"seed": -1}),
        ("transformers cannot read it", tp.ExportError, folder, text, {}),
    ]
    with open(f"{folder}/config.json", "w", encoding="utf-8") as file:
        file.write("{}")
    written = list(tp.generate(module, [1] * 60))
    assert 1 <= len(written) <= 4, written  # as many as there are positions for
    for message, kind, model, prompt, more in cases:
        try:
            list(tp.generate(model, prompt, **more))
        except kind as error:
            assert message in str(error), f"{message!r} is not in {str(error)!r}"
        else:
            raise AssertionError(f"not refused: {message}")
    for logits, what in (([np.nan, 1], "NaN"), ([-np.inf] * 2, "no finite number")):
        try:
            Sampler()(np.array(logits))
        except tp.RunError as error:
            assert what in str(error)
        else:
            raise AssertionError(f"not refused: {what}")
    print(f"{len(cases) + 2} refused")


def main() -> None:
    check_sampling()
    check_families()
    check_folder(sys.argv[1])
    check_other_name()
    check_without_tokenizer(sys.argv[1] + "/no-tokenizer")
    check_refusals(sys.argv[1])


if __name__ == "__main__":
    main()
