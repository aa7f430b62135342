"""Runs tp-run as a process per rank, as a launcher would: so that each can have an
environment of its own, and several of them share one device."""
import dataclasses
import shutil
import subprocess
import tempfile
import time


@dataclasses.dataclass
class Outcome:
    status: int
    out: str
    err: str

    def wrong(self):
        """Why the run has failed, or None."""
        if self.status == 0:
            return None
        lines = [line for line in self.err.splitlines() if line.strip()]
        return "; ".join(lines[-3:]) or f"ends with {self.status}"


def run(device, ranks, words, cwd, timeout=600, prefix=(), more=None):
    """tp-run and its arguments as `words`, on that many ranks, with `more` in their
    environment; what rank 0 prints."""
    store = tempfile.mkdtemp() if ranks > 1 else None
    words = [*prefix, *words] + ([f"--store={store}"] if store else [])
    processes = []
    try:
        for rank in range(ranks):
            processes.append(subprocess.Popen(
                words, cwd=cwd, env={**device.environment(rank, ranks), **(more or {})},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True))
        end, texts = time.monotonic() + timeout, []
        for process in processes:
            texts.append(process.communicate(timeout=max(end - time.monotonic(), 1)))
    except subprocess.TimeoutExpired:
        return Outcome(124, "", f"killed after {timeout} s")
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        if store:
            shutil.rmtree(store, ignore_errors=True)
    # A rank that ends because another one has says less.
    status = next((p.returncode for p in processes if p.returncode), 0)
    return Outcome(status, texts[0][0], "".join(dict.fromkeys(err for _, err in texts)))
