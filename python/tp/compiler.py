"""tp.compile: a model, a plan and a mesh become a program. The packaged tp-compile does it."""
from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import warnings
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from . import artifact as artifacts
from .compile_options import option_flags
from .errors import CompileError, PlanWarning, listed, near
from .files import OpenFile, link_paths, write_whole
from .plan_words import in_dict_words
from .plans import (PlanText, add_rules, as_entries, check_axes_of_transformer, check_mesh, is_own,
                    is_plan_path, is_transformer, mesh_flag, one_style, plan_text,
                    positions_of_weights, warn_of_whole_layers, with_own_plan)
from .program import Program
from .styles import STYLE_NAMES
from .tools import run_tool
from .weights import Weights, with_own

_TARGETS = ("cpu", "cuda")
# Options of a compilation that its reports do not need again; --link is there for --verify.
_ONCE = ("--dump-details", "--dump-stages=", "--link=", "--remarks", "--verify", "--write-plan=")
_DIAGNOSTIC = re.compile(r"^(?P<place>.*?): (?P<severity>error|warning|remark|note): (?P<text>.*)$",
                         re.MULTILINE)


class Compilation:
    """The command line of a compilation and its files, which live in a folder of their own until
    the last program of it is gone."""

    def __init__(self, model: str, flags: Sequence[str], plan: PlanText | None) -> None:
        self.folder = tempfile.mkdtemp(prefix="tp-")
        weakref.finalize(self, _remove, self.folder, os.getpid())
        self._model = model
        self._flags = list(flags)
        self._plan = plan
        self._explained: str | None = None
        if plan is not None:
            path = os.path.join(self.folder, "plan.mlir")
            write_whole(path, [plan.text.encode()])
            self._flags.append(f"--plan={path}")

    @property
    def artifact(self) -> str:
        """Where the artifact is."""
        return os.path.join(self.folder, "program.tp")

    def keep_model(self, text: str) -> None:
        """The model's text, where no file of the caller has it."""
        self._model = os.path.join(self.folder, "model.mlir")
        write_whole(self._model, [text.encode()])

    def keep_copy(self) -> None:
        """For reports after the caller's files have changed."""
        kept = os.path.join(self.folder, "model.mlir")
        if self._model != kept:
            write_whole(kept, OpenFile(self._model).parts())
            self._model = kept

    def run(self, *more: str) -> str:
        """Runs tp-compile; what it prints. Raises CompileError."""
        done = run_tool("tp-compile", [self._model, *self._flags, *more])
        if done.returncode != 0:
            raise self._error(done.stderr)
        return done.stdout + done.stderr

    def report(self, path: str) -> None:
        """Partitions once more, without code, and writes the report."""
        self._again(f"--report={os.path.abspath(path)}")

    def explain(self) -> str:
        """Partitions once more, without code, and explains the collectives. The text is kept."""
        if self._explained is None:
            path = os.path.join(self.folder, "explained.txt")
            self._again(f"--explain={path}")
            with open(path, encoding="utf-8") as file:
                self._explained = self._named(file.read())[0]
        return self._explained

    def _again(self, more: str) -> None:
        """Runs tp-compile for a text about the program, which needs no code, no check and no file
        that the compilation wrote."""
        first = list(self._flags)
        self._flags = [flag for flag in first if not flag.startswith(_ONCE)]
        try:
            self.run(more)
        finally:
            self._flags = first

    def warnings(self, printed: str) -> list[PlanWarning]:
        """The warnings among what tp-compile printed, each once."""
        return [PlanWarning(text, plan_entry=key)
                for text, key in self._diagnostics(printed, "warning").items()]

    def remarks(self, printed: str) -> list[str]:
        """The remarks among what tp-compile printed, each once."""
        return list(self._diagnostics(printed, "remark"))

    def _diagnostics(self, printed: str, wanted: str) -> dict[str, str | None]:
        """Located texts of a severity, with their notes; of each the plan entry it is about."""
        found: dict[str, str | None] = {}
        last: list[str] = []

        def finish() -> None:
            if last:
                text, key = self._named("\n".join(last))
                found.setdefault(text, key)
        for match in _DIAGNOSTIC.finditer(printed):
            place, severity, text = match.groups()
            if severity == "note" and last:
                last.append(match.group())
                continue
            finish()
            last = [f"{place}: {text}"] if severity == wanted else []
        finish()
        return found

    def _error(self, text: str) -> CompileError:
        text, key = self._named(text.strip() or "tp-compile failed and printed nothing")
        return CompileError(text, diagnostics=text, plan_entry=key)

    def _named(self, text: str) -> tuple[str, str | None]:
        """A diagnostic whose places in the dict's plan are its entries; files that the user never
        wrote are not mentioned. And the first entry, if there is one."""
        key = None
        if self._plan is not None:
            path = os.path.join(self.folder, "plan.mlir")
            for match in re.finditer(re.escape(path) + r":(\d+):\d+", text):
                key = self._plan.keys.get(int(match.group(1)))
                if key is not None:
                    break

            def name(match: re.Match[str]) -> str:
                line = int(match.group(1))
                assert self._plan is not None
                entry = self._plan.keys.get(line)
                return f"plan entry '{entry}'" if entry is not None else f"plan, line {line}"
            text = in_dict_words(re.sub(re.escape(path) + r":(\d+):\d+", name, text))
        return text.replace(self.folder + os.sep, ""), key


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # not in a forked child, which ends sooner
        shutil.rmtree(folder, ignore_errors=True)


def _target(target: object, chips: object) -> list[str]:
    if target not in _TARGETS:
        raise CompileError(f"target: expected one of {listed(_TARGETS)}, got {target!r}")
    if chips is None:
        return [f"--target={target}"]
    if target != "cuda":
        raise CompileError(f"chips: expected target='cuda' with it, got target={target!r}",
                           in_shell=f"--chips: expected --target=cuda with it, got {target}")
    names = chips.split(",") if isinstance(chips, str) else chips
    if not isinstance(names, Sequence) or not names or not all(
            isinstance(name, str) and name for name in names):
        raise CompileError(f"chips: expected names such as ['sm_90'], got {chips!r}")
    return ["--target=cuda", f"--chip={','.join(names)}"]


def _loaded(model: Any) -> Any:
    """The tp.Model of a folder that Model.save wrote; anything else as it is."""
    if isinstance(model, (str, os.PathLike)) and os.path.exists(
            os.path.join(model, "ports.json")):
        from .model import Model
        return Model.load(model)
    return model


def _model(model: Any) -> tuple[str, str | None, Any]:
    """The model's path, its text where no file has it, and its weights."""
    if hasattr(model, "mlir") and hasattr(model, "weights"):
        return "", model.mlir, model.weights
    if not isinstance(model, (str, os.PathLike)):
        if hasattr(model, "forward") and hasattr(model, "state_dict"):
            raise CompileError("tp.compile: expected a tp.Model, a folder or a .mlir file, got a "
                               "module: write tp.compile(tp.export(module, (inputs,)), ...)")
        raise CompileError("tp.compile: expected a tp.Model, a folder or a .mlir file, got "
                           f"{type(model).__name__}")
    path = os.fspath(model)
    if os.path.isdir(path):
        text = os.path.join(path, "model.mlir")
        if not os.path.exists(text):
            if os.path.exists(os.path.join(path, "config.json")):
                raise CompileError(
                    f"{path}: expected a folder with model.mlir, got a checkpoint of transformers: "
                    f"its text is python -m tp generate {path} PROMPT, in Python tp.generate; write "
                    f"python -m tp export {path} --decode=LENGTH -o FOLDER, in Python "
                    "tp.generation.decode_step(module, length), for a decode step, and "
                    "tp.export(module, (inputs,)) for another model of it")
            raise CompileError(f"{path}: expected a folder with model.mlir, as Model.save writes it")
        for name in ("model.safetensors.index.json", "weights.safetensors", "model.safetensors"):
            if os.path.exists(os.path.join(path, name)):
                return text, None, os.path.join(path, name)
        return text, None, None
    if not os.path.exists(path):
        raise CompileError(f"{path}: no such file or folder")
    if artifacts.is_artifact(path):
        text = f"{path}: the file is compiled already: write "
        raise CompileError(f"{text}tp.load(path)", in_shell=f"{text}python -m tp run {path}")
    return path, None, None


def _no_file(plan: str, mesh: Mapping[str, int] | None) -> CompileError:
    """The error for a text that is no plan and no file."""
    hint = in_shell = near(plan, ("auto", "hf", "transformer"))
    if plan in STYLE_NAMES:
        where = "" if plan in ("data_parallel", "context_parallel") else "layers.*.q"
        entries: dict[str, Any] = {where: plan}
        if mesh is not None and len(mesh) > 1:
            axis = "dp" if plan == "data_parallel" else "tp"
            entries = {axis if axis in mesh else next(iter(mesh)): entries}
        hint = f": it is a style, write plan={entries}"
        in_shell = (f": it is a style, write it in a plan file: tp.parallelize \"{where}\" with {plan} "
                    "(docs/plans.md)")
    elif not hint and os.sep not in plan and "." not in plan:
        hint = ("; a plan is 'auto', 'hf', 'transformer', a path of a plan file or a dict from "
                "patterns of modules to styles, such as {'layers.*.q': 'colwise'}")
        in_shell = "; a plan is auto, hf, transformer or the path of a plan file"
    return CompileError(f"plan: no file {plan!r}{hint}",
                        in_shell=f"--plan: no file '{plan}'{in_shell}")


def compile(model: Any, *, plan: Any = None, mesh: Any = None, target: str = "cpu",
            chips: Any = None, weights: Weights = None, launch: str | None = None,
            timeout: float = 300.0, rules: Any = None, link: Any = None,
            **options: Any) -> Program:
    """Compiles a model for all ranks of a mesh.

    Args:
        model: a tp.Model (of tp.export), a folder that Model.save wrote, or a .mlir file.
        plan: how the modules run in parallel (docs/plans.md): `"auto"` (tp chooses);
            `"transformer"` (Megatron's, found in the program); a path of a plan file; a dict from patterns of module names to styles (torch's own objects, tp's, or
            names), with several axes one such dict (or `"auto"`) per axis; `"hf"`: the plan that a
            transformers model brings, `"hf:FOLDER"` that of another model's folder, for the axis
            `tp`. None: one rank, or the model's own pins.
        mesh: sizes of the axes, `{"tp": 4}`; a number stands for `{"tp": number}`.
        target: `"cpu"` or `"cuda"`, where rank r runs on device r.
        chips: of target cuda, such as `["sm_90"]`.
        weights: as tp.load takes them; the model's own if none are given, and for what is no
            parameter where these lack it.
        launch, timeout: as in tp.load.
        rules: how ops of dialects that tp does not know are split: a dict from ops (names, or
            torch's) to rules, such as `{"mylib.op": "i k, k j -> i j"}`; tp.Rule has more. They
            need a plan; a plan file has its own.
        link: as in tp.load.
        options: of tp-compile, with underscores: `memory_limit="16GiB"`, `strict=True`.

    Raises:
        CompileError: with the compiler's located text, and the plan entry that it is about.

    Each warning of the compiler is a PlanWarning. Its remarks (`remarks=True`) go to `sys.stderr`.
    """
    sizes = check_mesh(mesh)
    if launch not in (None, "thread", "process", "torchrun"):
        raise CompileError("launch: expected 'thread', 'process' or 'torchrun', got "
                           f"{launch!r}")
    model = _loaded(model)
    path, text, own_weights = _model(model)
    flags = _target(target, chips)
    links = link_paths(link, CompileError)
    if options.get("verify") is True:
        flags += [f"--link={path}" for path in links]
    written: PlanText | None = None
    is_own_plan = is_own(plan)
    plan = one_style(with_own_plan(plan, model, sizes))
    if rules is not None:
        plan = as_entries(plan, sizes)
    if isinstance(plan, Mapping):
        written = plan_text(plan, sizes)
        add_rules(written, {} if rules is None else rules)
        if not plan and sizes is not None and any(size > 1 for size in sizes.values()):
            warnings.warn(PlanWarning("plan: it has no entry, so every rank computes the whole "
                                      "model: write plan='auto', or a dict of styles"), stacklevel=2)
    elif plan is not None and not isinstance(plan, (str, os.PathLike)):
        raise CompileError("plan: expected 'auto', 'hf', 'transformer', a path of a plan file or a dict "
                           f"from module names to styles, got {type(plan).__name__}")
    elif (plan == "auto" or is_transformer(plan)) and sizes is None:
        raise CompileError(f"plan={plan!r} needs mesh=, such as mesh={{'tp': 4}}")
    elif is_transformer(plan):
        assert plan is not None and sizes is not None
        check_axes_of_transformer(os.fspath(plan), sizes)
        flags.append(f"--plan={plan}")
    elif is_plan_path(plan):
        assert plan is not None
        if not os.path.exists(plan):
            raise _no_file(os.fspath(plan), sizes)
        flags.append(f"--plan={os.fspath(plan)}")
    elif plan is not None:
        flags.append(f"--plan={plan}")
    elif sizes is not None and any(size > 1 for size in sizes.values()):
        raise CompileError(f"mesh: got {sizes} without a plan: write plan='auto', or a dict of "
                           "styles")
    if sizes is not None and written is None and plan is not None:
        flags.append(f"--mesh={mesh_flag(sizes)}")
    compilation = Compilation(path, [*flags, *option_flags(options)], written)
    if text is not None:
        compilation.keep_model(text)
    printed = compilation.run("-o", compilation.artifact)
    for warning in compilation.warnings(printed):
        warnings.warn(warning, stacklevel=2)
    for remark in compilation.remarks(printed):
        print(remark, file=sys.stderr)
    compilation.keep_copy()
    artifact = artifacts.read(compilation.artifact)
    artifact.links = links
    for warning in [] if written is None else positions_of_weights(written, artifact):
        warnings.warn(warning, stacklevel=2)
    if is_own_plan:
        warn_of_whole_layers(artifact)
    return Program(artifact, own_weights if weights is None else
                   with_own(weights, own_weights, artifact.all_arguments()), launch=launch,
                   timeout=timeout, compilation=compilation)
