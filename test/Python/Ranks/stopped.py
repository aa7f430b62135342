"""Stops ranks while the program waits for them.

    stopped.py PROGRAM.tp                 the artifact of Inputs/train.mlir for two ranks
"""
from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import tp
from tp.ranks import processes

PROGRAM = sys.argv[1]
X = np.full((4, 6), 0.25, np.float32)
WEIGHTS = {"up.weight": np.ones((6, 10), np.float32), "opt_step:step": np.array(7),
           "cache": np.zeros((4, 10), np.float32)}
# In place of the program of rank 1.
_STOPPED = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
_BEFORE_A_READ = """
import sys; sys.path[:] = eval(sys.argv.pop(1))
import os, time
from tp.ranks import rank_process
do = rank_process.RankProcess.do
def do_late(self, command, entry, argument):
    while command == "read" and not self._first and not os.path.exists({file!r}):
        {wait}
    do(self, command, entry, argument)
rank_process.RankProcess.do = do_late
rank_process.main()
"""


def load(timeout: float = 300.0) -> tp.Program:
    return tp.load(PROGRAM, WEIGHTS, launch="process", timeout=timeout)


def say(what: str, call: Callable[[], Any]) -> None:
    """Prints what goes wrong in a call."""
    try:
        call()
        text = "no error"
    except tp.RunError as error:
        text = f"code {error.code}: {error}"
    print(f"{what}: {text}", flush=True)


def processes_of(program: tp.Program) -> list[Any]:
    return list(program._shared.group._processes)  # type: ignore[union-attr]


def waiting_for(ranks: int) -> Any:
    """However slow the machine is, the time-out begins when no other rank has to answer."""
    real = processes.wait

    def wait(connections: list[Any], timeout: float) -> list[Any]:
        return real(connections, timeout if len(connections) <= ranks else 600)
    return mock.patch.object(processes, "wait", wait)


def while_waiting(call: Callable[[], Any]) -> Any:
    """Another thread makes the call when this one waits for ranks that do not answer."""
    real, called = processes.wait, []

    def wait(connections: list[Any], timeout: float) -> list[Any]:
        answers = real(connections, timeout)
        if not answers and not called:
            called.append(threading.Thread(target=call))
            called[0].start()
        return answers
    return mock.patch.object(processes, "wait", wait)


def check_stopped(what: str, ranks: list[int], call: Callable[[tp.Program], Any]) -> None:
    """The ranks are stopped before the call. The program is dead afterwards, as are its ranks."""
    with load() as program:
        assert program.alive
        program(X)
        started = processes_of(program)
        for rank in ranks:
            os.kill(started[rank].pid, signal.SIGSTOP)
        assert program.alive
        program._shared.group._timeout = 2.0  # type: ignore[union-attr]
        with waiting_for(len(ranks)):
            say(what, lambda: call(program))
        assert not program.alive
        assert all(process.poll() is not None for process in started)
        say("the next use", lambda: program.state["up.weight"])


def check_start() -> None:
    """A rank is stopped before it has started. The next use starts the ranks again."""
    def popen(command: list[str], **options: Any) -> Any:
        if command[5] == "1":
            command = [*command[:2], _STOPPED, *command[3:]]
        return real(command, **options)
    real = processes.subprocess.Popen
    with load(timeout=5) as program:
        with mock.patch.object(processes.subprocess, "Popen", popen), waiting_for(1):
            say("start", lambda: program(X))
        assert program.alive
        program._shared._timeout = 300.0
        say("the next use", lambda: program(X))


def check_working() -> None:
    """Rank 1 works until this process has waited for three times the time-out; or it sleeps."""
    seconds = 2.0
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "go")
        real, empty = processes.wait, 0

        def wait(connections: list[Any], timeout: float) -> list[Any]:
            nonlocal empty
            answers = real(connections, timeout)
            empty += not answers
            if empty * timeout > 3 * seconds:
                open(file, "w").close()
            return answers
        for what, code in (("sleeps", "time.sleep(1000)"), ("works", "pass")):
            empty = 0
            start = _BEFORE_A_READ.format(file=file, wait=code)
            with mock.patch.object(processes, "_START", start), load() as program:
                program(X)
                program._shared.group._timeout = seconds  # type: ignore[union-attr]
                with mock.patch.object(processes, "wait", wait):
                    say(f"a rank that {what}", lambda: program.state["cache"])


def check_alive() -> None:
    """A program that has not started is alive; one that a rank has left, or that is closed, is not."""
    program = load()
    assert program.alive
    program(X)
    dying = processes_of(program)[1]
    dying.kill()
    os.waitid(os.P_PID, dying.pid, os.WEXITED | os.WNOWAIT)
    assert not program.alive
    say("a rank that was killed", lambda: program(X))
    assert not program.alive
    with load() as program:
        program(X)
        os.kill(processes_of(program)[1].pid, signal.SIGSTOP)
        with while_waiting(program.close):
            say("a program that another thread closes", lambda: program.state["cache"])
    with tp.load(PROGRAM, WEIGHTS, launch="thread") as threads:
        threads(X)
        assert threads.alive and all(entry.alive for entry in threads.entries.values())
        child = os.fork()
        if child == 0:
            os._exit(threads.alive)
        assert os.waitpid(child, 0)[1] == 0
    assert not threads.alive
    say("a closed program", lambda: threads(X))


def check_interrupt() -> None:
    """^C while a rank is stopped, which the time-out would not end."""
    # A process that is started in the background ignores the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with load() as program:
        program(X)
        os.kill(processes_of(program)[1].pid, signal.SIGSTOP)
        try:
            with while_waiting(lambda: os.kill(os.getpid(), signal.SIGINT)):
                program.state["up.weight"]
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        assert not program.alive
        say("the next use", lambda: program(X))


if __name__ == "__main__":
    check_stopped("read", [0], lambda program: program.state["up.weight"])
    check_stopped("write", [1], lambda program: program.state.update(step=3))
    check_stopped("step", [0, 1], lambda program: program(X))
    check_start()
    check_working()
    check_alive()
    check_interrupt()
