"""What every rank of a run is about to do, in memory that all of them see: ranks compare it before
they do it, and name it when one of them does not come."""
from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np

from ..arrays import Bits
from ..artifact import Artifact, Port, by_name
from ..errors import Code, RunError, listed, plural

START, LOAD, STEP, READ = range(1, 5)
_REFUSAL_BYTES = 480


def checksum(bits: Bits) -> int:
    """Of all elements in their order, whatever the strides; never 0."""
    return zlib.crc32(np.ascontiguousarray(bits).reshape(-1).view(np.uint8).data) or 1


def ranks_text(ranks: Iterable[int]) -> str:
    """`rank 1`, `ranks 1, 2`."""
    numbers = list(ranks)
    return ("rank " if len(numbers) == 1 else "ranks ") + ", ".join(map(str, numbers))


def _row_type(artifact: Artifact) -> np.dtype[np.void]:
    arguments = (max(len(artifact.arguments), 1),)
    record = np.dtype([("kind", "u8"), ("port", "u8"), ("digest", "u8"),
                       ("written", "u4", arguments), ("inputs", "u4", arguments),
                       ("refusal", f"S{_REFUSAL_BYTES}")], align=True)
    # Two records, used in turn: a rank that writes record k + 2 has passed the barrier of k + 1,
    # which all entered after they had compared k.
    return np.dtype([("entered", "u8"), ("steps", "u8"), ("loaded", "u8"), ("within", "u8"),
                     ("left", "u8"), ("records", record, (2,))], align=True)


class Records:
    """The records of all ranks, of which this process writes one rank's.

    Every operation of the program that needs all ranks has a number, and begins with `enter`, a
    barrier and `compare`. What a rank has been given since the last one is part of its record.
    """

    def __init__(self, artifact: Artifact, rank: int, memory: Bits) -> None:
        kind = _row_type(artifact)
        self._rows = memory[:artifact.size * kind.itemsize].view(kind)
        self._mine = self._rows[rank]
        self._rank = rank
        self._arguments = artifact.arguments
        names = by_name(artifact.arguments)
        self._names = {port.index: name for name, port in names.items()}
        self._written = np.zeros(max(len(artifact.arguments), 1), np.uint32)
        self._number = 0

    @staticmethod
    def nbytes(artifact: Artifact) -> int:
        """The bytes that the records of all ranks need."""
        return artifact.size * _row_type(artifact).itemsize

    def write(self, port: Port, value: int) -> None:
        """The rank was given an argument, of this checksum, outside of a step."""
        self._written[port.index] = value

    def loads(self) -> None:
        """The rank has loaded one more weight: a heartbeat."""
        self._mine["loaded"] += 1

    def works(self) -> None:
        """The rank works, unless it waits in an operation: a heartbeat."""
        if not self._mine["within"]:
            self._mine["loaded"] += 1

    def heartbeats(self) -> int:
        """Grows while a rank loads, or works by itself."""
        return int(self._rows["loaded"].sum())

    def enter(self, kind: int, port: int = 0, digest: int = 0,
              inputs: Iterable[tuple[Port, int]] = (), refusal: str = "") -> None:
        """Writes what this rank is about to do, with the checksums of a step's inputs."""
        self._number += 1
        record = self._mine["records"][self._number % 2]
        given = record["inputs"]
        given[:] = 0
        for input_port, value in inputs:
            given[input_port.index] = value
        record["written"][:] = self._written
        record["kind"], record["port"] = kind, port
        record["digest"] = digest or zlib.crc32(given.data, zlib.crc32(self._written.data))
        record["refusal"] = refusal.encode()[:_REFUSAL_BYTES]
        self._mine["within"] = 1
        self._mine["entered"] = self._number

    def leave(self, steps: int = 0) -> None:
        """This rank has done what it entered for."""
        self._mine["steps"] += steps
        self._mine["within"] = 0

    def end(self) -> None:
        """This rank closes its program."""
        self._mine["left"] = 1

    def is_same(self) -> bool:
        """After the barrier: whether all ranks have the same digest. Raises RunError where they do
        different things."""
        records = self._rows["records"][:, self._number % 2]
        self._compare_kinds(records)
        return bool((records["digest"] == records["digest"][0]).all())

    def compare(self) -> None:
        """After the barrier: raises RunError, on every rank, unless all ranks do the same with the
        same data. Code 1 leaves the ranks as they were before."""
        records = self._rows["records"][:, self._number % 2]
        self._compare_kinds(records)
        refused = [rank for rank, record in enumerate(records) if record["refusal"]]
        if refused:
            text = bytes(records[refused[0]]["refusal"]).decode(errors="ignore")
            raise RunError(f"rank {refused[0]} has refused its call of {self._what(records[0])}, "
                           f"so no rank runs it: {text}")
        if (records["digest"] != records["digest"][0]).any():
            self._raise_difference(records)
        self._written[:] = 0

    def gone(self) -> int | None:
        """A rank that has closed its program while another waits for it."""
        entered = int(self._rows["entered"].max())
        for rank, row in enumerate(self._rows):
            if row["left"] and (row["within"] or int(row["entered"]) < entered):
                return rank
        return None

    def has_left(self) -> bool:
        """Whether a rank has closed its program."""
        return bool(self._rows["left"].any())

    def gone_text(self, rank: int) -> str:
        """That it has, for all others."""
        steps = int(self._rows[rank]["steps"])
        return f"rank {rank} has closed its program, or its script has ended, {_after(steps)}"

    def late_text(self, seconds: float) -> str:
        """For whom this rank has waited, and what those do instead."""
        late = [(rank, row) for rank, row in enumerate(self._rows)
                if int(row["entered"]) < self._number]
        what = self._what(self._mine["records"][self._number % 2])
        if not late:  # another rank has begun it too, and has not ended it
            return f"rank {self._rank} has waited {seconds:g} s for all ranks to end {what}"
        each = "; ".join(f"rank {rank} is {self._place(row)}" for rank, row in late)
        return (f"rank {self._rank} is in {what} and has waited {seconds:g} s for "
                f"{ranks_text(rank for rank, _ in late)}: {each}")

    def _place(self, row: np.void) -> str:
        if row["within"] or not row["entered"]:
            return f"in {self._what(row['records'][int(row['entered']) % 2], row)}"
        return f"between two calls, {_after(int(row['steps']))}"

    def _what(self, record: np.void, row: np.void | None = None) -> str:
        kind = int(record["kind"])
        if kind == READ:
            return f"program.state['{self._names[int(record['port'])]}']"
        if kind == STEP:
            return f"step {int((self._mine if row is None else row)['steps']) + 1}"
        return "the start of the program"

    def _compare_kinds(self, records: np.ndarray[tuple[int], np.dtype[np.void]]) -> None:
        first = records[0]
        for rank, record in enumerate(records):
            if record["kind"] != first["kind"] or record["port"] != first["port"]:
                raise RunError(
                    f"rank {rank} is in {self._what(record)}, and rank 0 in {self._what(first)}: "
                    "every process calls the program and reads program.state in the same order",
                    code=Code.RANK_FAILED)

    def _raise_difference(self, records: np.ndarray[tuple[int], np.dtype[np.void]]) -> None:
        for what in ("written", "inputs"):
            differs = records[what] != records[what][0]
            if differs.any():
                break
        ranks = ranks_text(np.flatnonzero(differs.any(axis=1)))
        names = listed(self._names[int(index)] for index in np.flatnonzero(differs.any(axis=0)))
        step = self._what(records[0])
        if int(records[0]["kind"]) == LOAD:
            text = f"the weights of {ranks} differ from those of rank 0: {names}"
        elif what == "written":
            text = f"{ranks} and rank 0 have not set program.state alike before {step}: {names}"
        else:
            text = f"the inputs of {ranks} in {step} differ from those of rank 0: {names}"
        raise RunError(f"{text}: every process gives the program the same arrays",
                       code=Code.RANK_FAILED if what == "written" else Code.INVALID_ARGUMENT)


def _after(steps: int) -> str:
    return f"after {plural(steps, 'step')}" if steps else "before the first step"
