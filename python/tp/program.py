"""A compiled program: called with arrays, its state on the ranks."""
from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from .arrays import Array, from_bits, kind_of, to_bits
from .artifact import Artifact, Port, by_name, find
from .errors import RunError, listed, near, plural, unknown_name
from .files import write_whole
from .program_ranks import ProgramRanks, Tensor, check_timeout
from .program_tables import Layouts, Memory, collectives_table, layouts_of, memory_of, summary
from .ranks import checkpoints, choose_launch, state_files, telling_others
from .trees import is_tree, leaves, named_tuple
from .weights import Weights

if TYPE_CHECKING:
    from .compiler import Compilation
    from .views.communication import Collectives


# What to do about an input of another shape.
_FIXED = ": shapes are fixed by the export: pad the array, or "
_OTHER_SHAPE = ("export a program for this shape too (tp.export_entries and tp.join_entries share "
                "weights)")
_OTHER_BATCH = "leave the last batch of an epoch out where it is smaller (drop_last=True)"


class State(MutableMapping[str, Array]):
    """What stays on the ranks from step to step: parameters, buffers, optimizer state.

    Reading assembles the whole array from the ranks (numpy's; bf16 and f8 as ml_dtypes' types, or
    as their bits without that package). Writing gives every rank its part.
    """

    def __init__(self, program: Program) -> None:
        self._program = program

    def _ports(self) -> dict[str, Port]:
        return self._program._state_names

    def _port(self, name: str) -> Port:
        if not isinstance(name, str):
            raise RunError(f"state: expected a name, got {name!r}")
        if name in self._program.input_names and name not in self._ports():
            raise RunError(f"state '{name}': it is an input, which a call gives: program({name}=...)")
        port = self._ports().get(name)
        if port is None or port.dead:
            port = find(self._program._stateful, name, "state")
        if port.dead:
            raise RunError(f"state '{name}': the program does not use it, so no rank holds it")
        return port

    def __getitem__(self, name: str) -> Array:
        port = self._port(name)
        program = self._program
        return from_bits(program._shared.read(program._entry, port), port.dtype, "numpy")

    def __setitem__(self, name: str, value: Array) -> None:
        port = self._port(name)
        bits = to_bits(value, port.shape, port.dtype, f"state '{name}'")
        self._program._shared.write(self._program._entry, port, bits)

    def __delitem__(self, name: str) -> None:
        raise RunError(f"state '{name}': the program's state cannot be deleted; write "
                       "program.close() to free its memory")

    def __iter__(self) -> Iterator[str]:
        return (name for name, port in self._ports().items() if not port.dead)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and bool(self._port(name))
        except RunError:
            return False

    def __repr__(self) -> str:
        return f"<tp.State of {plural(len(self), 'array')}: {listed(self)}>"


class Entries(dict[str, "Program"]):
    """The entries of a program by their names."""

    def __missing__(self, name: str) -> Program:
        raise unknown_name("entry", name, self)


class Program:
    """A program for all ranks of its mesh. `tp.compile` and `tp.load` make it.

    The ranks start with the first call (or the first use of `state`). A program is used by one
    thread at a time; calls of others wait. A call runs the program's entry; `entries` has the
    others, which share parameters and state with it.

    Attributes:
        mesh: sizes of the axes, in order.
        size: number of ranks.
        input_names: what a call takes, in order.
        result_names: what a call returns, in order.
    """

    def __init__(self, artifact: Artifact, weights: Weights = None, *, launch: str | None = None,
                 timeout: float = 300.0, compilation: Compilation | None = None,
                 shared: ProgramRanks | None = None) -> None:
        self._artifact = artifact
        self._entry = artifact.entry
        self._compilation = compilation
        self._shared = shared or ProgramRanks(artifact, weights, launch, timeout)
        self._stateful = [port for port in artifact.arguments if self._shared.stays(port)]
        self._state_names = by_name(self._stateful)
        self._inputs = [port for port in artifact.arguments if not port.is_weight]
        # Inputs that a step returns for the next one, and that need not be given again.
        self._kept = {port.tensor for port in self._inputs if self._shared.stays(port)}
        self._results = artifact.returned()
        self._others: dict[str, Program] = {}

    mesh = property(lambda self: dict(self._artifact.mesh), doc="Sizes of the axes, in order.")
    size = property(lambda self: self._artifact.size, doc="The number of ranks.")
    target = property(lambda self: str(self._artifact.target.get("kind", "cpu")),
                      doc="`cpu` or `cuda`.")

    @property
    def alive(self) -> bool:
        """Whether a call may succeed: false once the program is closed, or a failure or ^C has
        ended its ranks, or one of them has died. Waits for no call of another thread."""
        return self._shared.is_alive()

    @property
    def input_names(self) -> list[str]:
        """What a call takes, in order."""
        return list(by_name(self._inputs))

    @property
    def result_names(self) -> list[str]:
        """What a call returns, in order."""
        return list(by_name(self._results))

    @property
    def entries(self) -> Entries:
        """The entries of the artifact by their names, in order: one program each, on the same ranks,
        with the same parameters and state."""
        for name, artifact in self._artifact.entries.items():
            if name != self._entry and name not in self._others:
                self._others[name] = Program(artifact, compilation=self._compilation,
                                             shared=self._shared)
        return Entries((name, self._others.get(name, self)) for name in self._artifact.entries)

    @property
    def state(self) -> State:
        """What stays on the ranks from step to step, by name."""
        return State(self)

    @property
    def collectives(self) -> Collectives:
        """The collectives of a step: kind, axes, bytes, module, reason. `.tree` has them by
        module."""
        return collectives_table(self._artifact)

    @property
    def layouts(self) -> Layouts:
        """How the ranks hold arguments and results: a dict from names to layouts."""
        return layouts_of(self._artifact)

    @property
    def memory(self) -> Memory:
        """Bytes that one rank holds."""
        return memory_of(self._artifact)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes what the plan bound and what is communicated: `.html` a page, `.json` data, any
        other name text (docs/report.md). Raises CompileError for a program of tp.load."""
        self._compiled("report").report(os.fspath(path))

    def explain(self) -> str:
        """Why every collective exists and what else could be done (docs/explain.md). Raises
        CompileError for a program of tp.load."""
        return self._compiled("explain").explain()

    def _compiled(self, what: str) -> Compilation:
        if self._compilation is None:
            raise RunError(f"{what}: an artifact does not hold its model: compile the model in this "
                           "process by tp.compile")
        return self._compilation

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the artifact, which holds no weights: `tp.load(path, weights=...)` loads it."""
        path = os.fspath(path)
        if not path:
            raise RunError("save: expected a path, got ''")
        self._artifact.check_unchanged()
        write_whole(path, self._artifact.file.parts())

    def save_state(self, path: str | os.PathLike[str]) -> None:
        """Writes what steps update, whole arrays of all entries, to a .safetensors file, which
        replaces an old one as a whole. It does not depend on the mesh."""
        state_files.save(self._shared, path)

    def load_state(self, path: str | os.PathLike[str]) -> None:
        """Gives the ranks what save_state, or `tp-run --save-state`, wrote on any mesh. Raises
        RunError, and changes nothing, where the file is another model's."""
        with self._shared.working():
            state_files.load(self._shared, path)

    def save_checkpoint(self, folder: str | os.PathLike[str],
                        max_shard_size: int | str = "5GB") -> None:
        """Writes parameters and what steps update into a folder: .safetensors files of up to
        `max_shard_size` and an index that transformers reads. The folder is the old checkpoint
        until the new one is on the disk. It does not depend on the mesh."""
        checkpoints.save(self._shared, folder, max_shard_size)

    def load_checkpoint(self, folder: str | os.PathLike[str]) -> None:
        """Gives the ranks what save_checkpoint, or `tp-run --save-state`, wrote on any mesh. Raises
        RunError, and changes nothing, where it is damaged, incomplete or another step's."""
        with self._shared.working():
            checkpoints.load(self._shared, folder)

    def close(self) -> None:
        """Ends the ranks and frees their memory."""
        self._shared.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, *inputs: Array, **named: Array) -> Any:
        """Runs one step on all ranks.

        Args:
            inputs: whole arrays in the order of `input_names`; numpy's, torch's, jax's, or
                anything with `__dlpack__`, in host memory. Numbers and lists are converted.
            named: the same by name.

        Returns:
            the result, or a tuple of results where there are several, or None: of torch where an
            input is torch's, else of jax, else of numpy. The fields of the tuple are
            `result_names`. Results that update an argument are not returned; `state` has them.

        Raises:
            RunError: an input is missing, unknown, or of another shape or type; a rank fails.
        """
        is_training = any(port.kind == "new_parameter" for port in self._artifact.results)
        fixed = _FIXED + (_OTHER_BATCH if is_training else _OTHER_SHAPE)
        try:
            ports = self._bind(inputs, named)
            given = [(port, to_bits(value, port.shape, port.dtype, f"input '{name}'", fixed))
                     for name, (port, value) in ports.items()]
        except Exception as error:
            self._shared.refuse(error)
            raise
        # Those that the program does not read, too.
        kinds = {kind_of(value) for value in (*inputs, *named.values())}
        kind = next((kind for kind in ("torch", "jax") if kind in kinds), "numpy")
        shared = self._shared
        with shared.lock:
            group = shared.start()
            unset = shared.unset - {port.tensor for port, _ in given}
            shared.require(group, [port for port in self._stateful if port.tensor in unset])
            results = shared.step(group, self._entry, given)
            shared.unset = unset
        arrays = [from_bits(bits, port.dtype, kind) for port, bits in zip(self._results, results)]
        if len(arrays) < 2:
            return arrays[0] if arrays else None
        return named_tuple(tuple(self.result_names), arrays)

    def _bind(self, inputs: tuple[Array, ...],
              named: dict[str, Array]) -> dict[str, tuple[Port, Array]]:
        names = by_name(self._inputs)
        wanted = f"expected {plural(len(names), 'input')} ({listed(names) or 'none'})"
        named = {f"{name}.{path}" if path else name: leaf for name, value in named.items()
                 for path, leaf in (leaves(value) if name not in names and is_tree(value)
                                    else [("", value)])}
        shared = self._shared
        kept = self._kept - shared.unset if shared.group is not None else set()
        bound = {name: (names[name], value)
                 for name, value in self._by_position(inputs, names, named, kept).items()}
        for name, value in named.items():
            if name not in names:
                hint = near(name, names)
                if name in self.state:
                    hint = f": it is state, write program.state['{name}'] = array"
                raise RunError(f"no input '{name}'{hint or ', ' + wanted}")
            if name in bound:
                raise RunError(f"input '{name}' is given twice: by position and by name")
            bound[name] = (names[name], value)
        missing = [port for name, port in names.items()
                   if name not in bound and not port.dead and port.tensor not in kept]
        if missing:
            raise RunError(f"{wanted}, got {len(bound)}: {listed(map(str, missing))} "
                           f"{'is' if len(missing) == 1 else 'are'} missing{self._first(missing)}")
        return {name: row for name, row in bound.items() if not row[0].dead}

    def _by_position(self, inputs: tuple[Array, ...], names: dict[str, Port],
                     named: dict[str, Array], kept: set[Tensor]) -> dict[str, Array]:
        """The names of what is given by position: of the inputs without those that the ranks keep
        from the last step, or of all, where as many are given."""
        fitting: list[dict[str, Array]] = []
        wrong: RunError | None = None
        for left_out in (kept, set[Tensor](), self._kept):
            order = [name for name, port in names.items() if port.tensor not in left_out]
            try:
                flat = self._flat(inputs, order)
            except RunError as error:
                wrong = wrong if left_out else error
                continue
            if len(flat) > len(order):
                continue
            found = dict(zip(order, flat))
            missing = [name for name in order if name not in found and name not in named
                       and not names[name].dead and names[name].tensor not in kept]
            if not missing and not found.keys() & named.keys():
                return found
            fitting.append(found)
        if not fitting:
            raise wrong or RunError(f"expected {plural(len(names), 'input')} "
                                    f"({listed(names) or 'none'}), got {len(inputs)}")
        return fitting[-1]

    def _first(self, missing: list[Port]) -> str:
        """What to do where inputs that steps update are all that is missing."""
        if any(port.tensor not in self._kept for port in missing):
            return ""
        what, name, root = "them, and they have no first values: give them", "name", "..."
        if len(missing) == 1:
            what, name = "it, and it has no first value: give it", repr(missing[0].name)
            root = repr(missing[0].name.partition(".")[0])
        option = "optimizer_state" if any(map(self._is_of_parameter, missing)) else "state"
        return (f": steps update {what} in the first call, write program.state[{name}] = array, or "
                f"export with tp.export_jax(..., {option}={root})")

    def _is_of_parameter(self, port: Port) -> bool:
        """Whether an input has the shape, and at its end the name, of a parameter, as moments."""
        return any(other.kind == "parameter" and other.shape == port.shape
                   and port.name.endswith("." + other.name) for other in self._artifact.arguments)

    def _flat(self, inputs: tuple[Array, ...], names: list[str]) -> tuple[Array, ...]:
        """The arrays of trees, which the function that was exported takes."""
        flat: list[Array] = []
        for value in inputs:
            parts = list(leaves(value)) if is_tree(value) else []
            expected = names[len(flat):len(flat) + len(parts)]
            if parts and len(parts) == len(expected) and all(
                    name.endswith("." + path) for name, (path, _) in zip(expected, parts)):
                flat.extend(leaf for _, leaf in parts)
            elif isinstance(value, (list, tuple)) and not hasattr(value, "_fields") or not parts:
                flat.append(value)
            elif all(path in self.state for path, _ in parts):
                raise RunError(
                    f"the program has {listed(path for path, _ in parts)} on its ranks: leave them "
                    f"out of the call, program({', '.join(names)}); other values come by "
                    "tp.load(path, weights=tree) or program.state[name] = array")
            else:
                raise RunError(f"expected arrays for {listed(names[len(flat):])}, got a tree of "
                               f"{listed(path for path, _ in parts)}"
                               + (": write program(**tree)" if {path for path, _ in parts} <=
                                  set(names) else ""))
        return tuple(flat)

    def __repr__(self) -> str:
        return f"<tp.Program {summary(self._artifact, self._inputs, self._results)}>"

    def _repr_html_(self) -> str:
        from html import escape
        return f"<p><b>{escape(repr(self)[1:-1])}</b></p>" + self.collectives._repr_html_()


def load(path: str | os.PathLike[str], weights: Weights = None, *, launch: str | None = None,
         timeout: float = 300.0, link: Any = None) -> Program:
    """Loads an artifact that tp.compile, Program.save or tp-compile wrote.

    Args:
        path: the artifact.
        weights: a .safetensors file (or its .index.json, or a folder with one), a dict from names
            to arrays, or a list of these. They are read when the ranks start. A tp.Model beside
            others in the list gives what they lack that is no parameter, such as buffers that a
            state_dict leaves out.
        launch: `thread`: ranks are threads of this process; `process`: spawned processes;
            `torchrun`: this process is one rank. Without it: `torchrun` in a process that torchrun
            started as one of several, else `thread`.
        timeout: seconds that a rank waits for the others in one collective.
        link: shared objects with functions that compute ops of dialects that tp does not know
            (docs/custom-ops.md): a path, or a list of them.

    Raises:
        RunError: the file is no artifact, or the weights are those of another model.

    The artifact's code runs with all rights of the process: load only what you trust.
    """
    from .artifact import read
    from .files import link_paths
    if not isinstance(path, (str, os.PathLike)):
        raise RunError(f"tp.load: expected a path of an artifact, got {type(path).__name__}")
    check_timeout(timeout)
    with telling_others(launch, timeout):
        artifact = read(path)
        artifact.links = link_paths(link, RunError)
    choose_launch(launch, artifact)  # a mistake in the launch is every rank's
    with telling_others(launch, timeout):
        return Program(artifact, weights, launch=launch, timeout=timeout)


__all__ = ["Program", "State", "load"]
