"""A module as a graph of few ops: torch.export, then decompositions."""
from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import (AbstractContextManager, ExitStack, contextmanager, nullcontext,
                        redirect_stderr)
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.nn.attention import SDPBackend, sdpa_kernel

from .caches import caches_as_trees
from .checkpoints import Checkpoints
from .decompositions import decomposition_table
from .experts import experts_implementation
from .gradients.assignments import assignments_kept
from .gradients.autocast import inline_autocast
from .gradients.grad_modes import inline_grad_modes
from .input_names import input_names
from .marks import Marks
from .raises import assert_what_raises
from .refusals import refuse_effects, refuse_trace, trace_error


@dataclass
class Traced:
    """What a module computes.

    Attributes:
        program: the exported program after decomposition. Its graph has marks.
        marks: to be detached first and taken last.
    """
    program: ExportedProgram
    marks: Marks


def trace(module: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Traced:
    """Traces `module(*args, **kwargs)`. Raises ExportError where it cannot be traced."""
    marks = Marks(module)
    with ExitStack() as stack:
        # The fused kernels of attention have no form in linalg.
        stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        stack.enter_context(caches_as_trees())
        stack.enter_context(transformers_options(module, kwargs))
        stack.enter_context(unchanged(module))
        stack.enter_context(quiet())
        stack.enter_context(code_on_demand())
        try:
            with marks.recording(), Checkpoints(module).recording(), assignments_kept(module):
                program = torch.export.export(module, args, dict(kwargs), strict=False)
            inline_grad_modes(program.graph_module, differentiated=False)
            inline_autocast(program.graph_module)
            refuse_trace(program)
            assert_what_raises(program, input_names(program, module)[0])
            program = program.run_decompositions(decomposition_table())
            refuse_effects(program)
        except Exception as error:
            raise trace_error(module, error) from error
    return Traced(program, marks)


@contextmanager
def unchanged(module: torch.nn.Module) -> Iterator[None]:
    """Gives the modules back the attributes that the trace sets, such as flags and tensors that
    they keep for the next call."""
    attributes = [(part, dict(vars(part))) for part in module.modules()]
    try:
        yield
    finally:
        for part, before in attributes:
            vars(part).clear()
            vars(part).update(before)


def code_on_demand() -> AbstractContextManager[Any]:
    """Keeps torch from writing Python for graphs that nothing calls, a fifth of a trace's time; where
    this torch cannot be told so, does nothing."""
    try:
        from torch.fx._lazy_graph_module import _use_lazy_graph_module
    except ImportError:
        return nullcontext()
    lazy: AbstractContextManager[Any] = _use_lazy_graph_module(True)
    return lazy


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps torch from printing graphs and traces of errors, of which the ExportError says what
    counts."""
    log = logging.getLogger("torch")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


@contextmanager
def transformers_options(module: torch.nn.Module,
                         kwargs: Mapping[str, Any]) -> Iterator[None]:
    """Options of a transformers model, or of parts of one, that make it exportable: no cache as a
    result where no cache is given, and experts that run as batched products rather than in loops
    over data."""
    changed: list[tuple[Any, str, Any, Any]] = []
    is_cached = kwargs.get("past_key_values") is not None or "use_cache" in kwargs or not any(
        is_transformers(part) for part in module.modules())
    configs = {id(part.config): part.config for part in module.modules() if hasattr(part, "config")}
    for config in configs.values():
        if hasattr(config, "use_cache") and not is_cached:
            changed.append((config, "use_cache", config.use_cache, False))
        if hasattr(config, "_experts_implementation"):
            changed.append((config, "_experts_implementation", config._experts_implementation,
                            experts_implementation(config)))
    for config, name, _, value in changed:
        setattr(config, name, value)
    try:
        yield
    finally:
        for config, name, value, _ in changed:
            setattr(config, name, value)


def is_transformers(module: torch.nn.Module) -> bool:
    """True for a model of the transformers package."""
    return any(base.__name__ == "PreTrainedModel" and base.__module__.startswith("transformers.")
               for base in type(module).__mro__)
