"""Parts of a prompt and the decode step of an attention layer as entries of one program, compared with
JAX on 1, 2 and 3 ranks: prompts of several lengths and 20 steps. The ranks have the weights and the
cache once.

    entries.py FOLDER
"""
from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tp

PLACES, HEADS, SIZE, WIDTH, WORDS, STEPS = 40, 6, 4, 16, 48, 20
RANDOM = np.random.default_rng(0)
# More bits than MLIR writes as words; a model has them in hexadecimal digits.
CAUSAL = np.tri(PLACES, dtype=bool)


def numbers(*shape: int) -> Any:
    return (RANDOM.standard_normal(shape) * 0.3).astype("f4")


PARAMS = {"embed": {"embedding": numbers(WORDS, WIDTH)},
          "attention": {**{name: {"kernel": numbers(WIDTH, HEADS, SIZE)}
                           for name in ("query", "key", "value")},
                        "out": {"kernel": numbers(HEADS, SIZE, WIDTH)}}}
CACHE = {name: np.zeros((PLACES, HEADS, SIZE), "f4") for name in ("keys", "values")}
PLAN = {"attention.query": "colwise", "attention.key": "colwise", "attention.value": "colwise",
        "attention.out": "rowwise"}


def read(params: Any, cache: Any, tokens: Any, place: Any) -> tuple[Any, Any]:
    """Reads tokens at a place of the text; what comes behind each, and the cache."""
    x = params["embed"]["embedding"][tokens]
    kernels = {name: module["kernel"] for name, module in params["attention"].items()}
    q, k, v = (jnp.einsum("td,dhk->thk", x, kernels[name]) for name in ("query", "key", "value"))
    cache = {name: lax.dynamic_update_slice(cache[name], new, (place, 0, 0))
             for name, new in (("keys", k), ("values", v))}
    scores = jnp.einsum("thk,shk->hts", q, cache["keys"])
    seen = lax.dynamic_slice(jnp.asarray(CAUSAL), (place, 0), (len(tokens), PLACES))
    shares = jax.nn.softmax(jnp.where(seen, scores, -1e9))
    x = x + jnp.einsum("thk,hkd->td", jnp.einsum("hts,shk->thk", shares, cache["values"]),
                       kernels["out"])
    return x @ params["embed"]["embedding"].T, cache


def prefill(params: Any, cache: Any, tokens: Any, place: Any) -> dict[str, Any]:
    """A part of the prompt, which returns no logits."""
    return {"cache": read(params, cache, tokens, place)[1]}


def decode(params: Any, cache: Any, token: Any, place: Any) -> dict[str, Any]:
    """One token."""
    logits, cache = read(params, cache, token[None], place)
    return {"cache": cache, "logits": logits[0]}


def export(function: Any, tokens: Any, **options: Any) -> tp.Model:
    return tp.export_jax(function, (PARAMS, CACHE, tokens, np.int32(0)), parameters="params",
                         updates={"cache": "cache"}, **options)


def models(**options: Any) -> dict[str, tp.Model]:
    return {"decode": export(decode, np.int32(0), **options),
            **{f"prefill_{count}": export(prefill, np.zeros(count, "i4"), **options)
               for count in (3, 8)}}


def expected(prompt: Any) -> tuple[list[int], Any, Any]:
    """The most probable tokens behind a prompt, the logits of each, and the cache."""
    step = jax.jit(decode)
    cache: Any = CACHE
    text, logits = list(prompt), []
    for place in range(len(prompt) + STEPS):
        result = step(PARAMS, cache, np.int32(text[place]), np.int32(place))
        cache = result["cache"]
        if place >= len(prompt) - 1:
            logits.append(np.asarray(result["logits"]))
            text.append(int(logits[-1].argmax()))
    return text, np.stack(logits), cache


def compare(program: tp.Program, prompt: Any, parts: list[int], **first: Any) -> None:
    """Reads all tokens of a prompt but the last by `parts`, then 20 more one by one. `first` is what
    only the first call gives."""
    text, right, cache = expected(prompt)
    place = 0
    for count in parts:
        entry = program.entries[f"prefill_{count}"]
        part = np.array(text[place:place + count], "i4")
        assert entry(tokens=part, place=np.int32(place), **first) is None
        place, first = place + count, {}
    assert place == len(prompt) - 1
    logits = [program(np.int32(text[at]), np.int32(at)) for at in range(place, place + STEPS + 1)]
    np.testing.assert_allclose(np.stack(logits), right, atol=1e-4)
    assert [int(row.argmax()) for row in logits] == text[len(prompt):]
    for name, array in cache.items():
        for entry in program.entries.values():
            np.testing.assert_allclose(entry.state[f"cache.{name}"], array, atol=1e-4)


def check_held_once(program: tp.Program, path: str) -> None:
    """The artifact has each weight and each array of the cache once, and its entries the rest."""
    program.save(path)
    manifest = tp.artifact.read(path).manifest
    names = ["attention.key.kernel", "attention.out.kernel", "attention.query.kernel",
             "attention.value.kernel", "embed.embedding", "cache.keys", "cache.values"]
    assert sorted(row["name"] for row in manifest["arguments"]) == sorted(names)
    for entry in manifest["entries"]:
        own = [row["name"] for row in entry["inputs"]]
        assert own == ["token" if entry["name"] == "decode" else "tokens", "place"], own
    layouts = [{name: entry.layouts[name] for name in names} for entry in program.entries.values()]
    assert layouts[0] == layouts[1] == layouts[2]
    heads = sum(array.nbytes for array in (*CACHE.values(), *(
        module["kernel"] for module in PARAMS["attention"].values())))
    for entry in program.entries.values():
        whole = heads + PARAMS["embed"]["embedding"].nbytes
        assert heads // program.size <= entry.memory["weights"] <= whole
        assert entry.memory["weights"] == program.memory["weights"]
        assert program.size > 1 or entry.memory["weights"] == whole
        assert entry.memory["inputs"] <= 9 * 4
        assert entry.memory["results"] <= WORDS * 4  # the cache is updated in place


def check_training() -> None:
    """A step that trains, and a loss of the parameters that it has trained."""
    def loss(params: Any, x: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ params["up"]["kernel"]) @ params["down"]["kernel"] - x) ** 2)

    def step(params: Any, moments: Any, x: Any) -> dict[str, Any]:
        value, gradients = jax.value_and_grad(loss)(params, x)
        moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, gradients)
        params = jax.tree.map(lambda p, m: p - 0.1 * m, params, moments)
        return {"params": params, "moments": moments, "loss": value}
    params = {"up": {"kernel": numbers(8, 12)}, "down": {"kernel": numbers(12, 8)}}
    moments = jax.tree.map(np.zeros_like, params)
    x, other = numbers(6, 8), numbers(3, 8)
    model = tp.join_entries({
        "train": tp.export_jax(step, (params, moments, x), parameters=0, optimizer_state=1,
                               updates={"params": 0, "moments": 1}),
        "evaluate": tp.export_jax(loss, (params, other), parameters=0)})
    for ranks in (1, 2, 3):
        right = {"params": params, "moments": moments}
        with tp.compile(model, plan={"up": "colwise", "down": "rowwise"}, mesh=ranks) as program:
            for _ in range(4):
                right = jax.jit(step)(right["params"], right["moments"], x)
                np.testing.assert_allclose(program(x), right["loss"], rtol=1e-5)
                np.testing.assert_allclose(program.entries["evaluate"](other),
                                           loss(right["params"], other), rtol=1e-5)
            assert list(program.state) == ["down.kernel", "up.kernel", "opt_moments:down.kernel",
                                           "opt_moments:up.kernel"]
    print("trained and evaluated on 1, 2, 3 ranks: equal")


def check_names(prompt: tp.Model) -> None:
    """A cache by two names is two, which is told."""
    step = tp.export_jax(lambda params, kv, token: decode(params, kv, token, 0),
                         (PARAMS, CACHE, np.int32(0)), parameters="params", state="kv",
                         updates={"cache": "kv"})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tp.join_entries({"prompt": prompt, "step": step})
    assert [(row.category, row.filename) for row in told] == [(tp.ExportWarning, __file__)], told
    print(told[0].message)


def check_packages(exported: dict[str, tp.Model], model: tp.Model) -> None:
    """torch-mlir joins programs as jaxlib does. One of them has to be there."""
    missing: dict[str, Any] = {"jax.interpreters.mlir": None}
    if importlib.util.find_spec("torch_mlir"):
        importlib.import_module("torch_mlir.ir")
        with mock.patch.dict(sys.modules, missing):
            assert tp.join_entries(exported, calls={"decode": 100}).mlir == model.mlir
    with mock.patch.dict(sys.modules, {**missing, "torch_mlir": None}):
        try:
            tp.join_entries(exported)
        except tp.ExportError as error:
            print(error)


def main(folder: str) -> None:
    exported = models(state="cache")
    calls = {"decode": 100}
    model = tp.join_entries(exported, calls=calls)
    print(model)
    assert model.mlir.count("tp.calls = 100 : i64") == 1
    for name, each in exported.items():
        each.save(f"{folder}/{name}")
    again = tp.join_entries({name: tp.Model.load(f"{folder}/{name}") for name in exported},
                            calls=calls)
    assert again.mlir == model.mlir and again.arguments == model.arguments
    prompts = {(): 1, (3,): 4, (8,): 9, (8, 3): 12, (3, 3, 8): 15}
    for ranks in (1, 2, 3):
        for plan in (None,) if ranks == 1 else ("auto", PLAN):
            for each in (model, again):
                with tp.compile(each, plan=plan, mesh=ranks) as program:
                    assert list(program.entries) == ["decode", "prefill_3", "prefill_8"]
                    check_held_once(program, f"{folder}/program.tp")
                    for parts, count in prompts.items():
                        compare(program, RANDOM.integers(0, WORDS, count), list(parts))
            name = plan if plan is None or plan == "auto" else "written"
            print(f"{ranks} ranks, plan {name}: {len(prompts)} prompts equal JAX's", flush=True)
    # A cache without a first value is shared too: the first call of an entry gives it.
    unset = tp.join_entries(models(), calls=calls)
    names = [port.name for port in unset.arguments]
    assert (names.count("cache.keys"), names.count("place")) == (1, 3), names
    for ranks in (1, 2):
        with tp.compile(unset, plan="auto", mesh=ranks) as program:
            compare(program, RANDOM.integers(0, WORDS, 4), [3], cache=CACHE)
            compare(program, RANDOM.integers(0, WORDS, 12), [8, 3])
        print(f"{ranks} ranks, a cache that the first call gives: equal")
    check_training()
    check_names(exported["prefill_3"])
    check_packages(exported, model)


if __name__ == "__main__":
    main(sys.argv[1])
