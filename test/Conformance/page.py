"""docs/conformance.md, from what both libraries made of the cases."""
from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from outcome import Outcome

from cases import Case
from tp.plans import plan_text

TITLE = """\
# Conformance with PyTorch

test/Conformance/conformance.py runs plans on small modules twice: with `parallelize_module` of
torch.distributed.tensor.parallel on four processes that talk through gloo, and with `tp.compile` on
four ranks. Both get the same plan, objects of PyTorch's classes. `--page=docs/conformance.md`
writes this page; test/Conformance/conformance.test runs some of the cases.

For every case the program checks:

- the results, and the parameters after a training step (SGD), are those of the module without a
  plan;
- tp makes no more collectives than PyTorch, and sends no more bytes unless fewer collectives make
  up for them ([propagate.md](propagate.md#what-is-minimized): a collective costs as much as 1 KiB);
- every parameter has the same layout in both;
- what this page says of PyTorch holds.

How to read the tables:

- `x`, `tokens`, `result` and `target` are entries for ports: `tp.argument`, `tp.result`. Inputs
  that no entry names are whole on every rank, and so is a result that is `replicate`.
- A cell has the collectives by kind and the bytes that a rank sends on a ring: AR all_reduce, AG
  all_gather, RS reduce_scatter, A2A all_to_all. In a training step they are of the forward pass,
  the backward pass and the optimizer. PyTorch's are counted by `CommDebugMode`. For an all_to_all,
  which gloo lacks, PyTorch gathers; the table has the all_to_all that it makes on devices.
- A training step has a collective of four bytes for a loss that is a sum over the ranks.
- A mesh of two axes has two replicas of two ranks, and each replica has half of the batch. In
  PyTorch the gradients of all parameters are added up over the replicas in one all_reduce, as
  DistributedDataParallel does it.

In training steps tp sends less because it sees the whole step: it adds gradients of one value
before it reduces them, reduces small ones together, and reduces the gradient of a weight where that
is smaller than the gradient of an activation. PyTorch decides op by op.
"""


def entries(plan: dict[str, Any]) -> str:
    """A plan in a cell."""
    texts = []
    for line in plan_text(plan, {"tp": 4}).lines[2:-1]:
        text = re.sub(r'^ *tp.parallelize ("[^"]*") with (.*)$', r"`\1` \2", line)
        text = re.sub(r'^ *tp.(argument "|result )([^" ]*)"? (.*)$', r"`\2` \3", text)
        texts.append(re.sub("`0`", "`result`", text).replace("|", "\\|"))
    return "; ".join(texts)


def row(case: Case, torchs: Outcome | str, tps: Outcome | str,
        with_ports: Callable[[Case, bool], dict[str, Any]]) -> str:
    """A line of a table."""
    cells = [case.name, entries(with_ports(case, case.loss is not None))]
    if case.data > 1:
        ports = ", ".join(f"`{name}`" for name in (*case.inputs, "result"))
        cells[1] += f"; on the axis `dp`: {ports} shard<0>"
    for outcome in (torchs, tps):
        is_known = isinstance(outcome, Outcome) and (outcome is tps or not case.differs)
        assert isinstance(outcome, Outcome) or outcome is torchs, outcome
        for sent, exists in (("forward", case.loss is None), ("training", case.trains)):
            known = str(getattr(outcome, sent)) if is_known else "below"
            cells.append(known if exists else "")
    name, plan, torch_forward, torch_step, tp_forward, tp_step = cells
    return f"| {' | '.join([name, plan, torch_forward, tp_forward, torch_step, tp_step])} |"


def page(rows: Sequence[tuple[Case, Outcome | str, Outcome | str]],
         with_ports: Callable[[Case, bool], dict[str, Any]]) -> str:
    """The text of the page."""
    lines = [TITLE.rstrip("\n")]
    for style in dict.fromkeys(case.style for case, *_ in rows):
        of_style = [row for row in rows if row[0].style == style]
        lines += ["", f"## {style}", "",
                  "| module, option | entries | PyTorch, forward | tp | PyTorch, a training step "
                  "| tp |", "|---|---|---|---|---|---|"]
        lines += [row(*found, with_ports) for found in of_style]
        said = [f"{case.name}: PyTorch {case.differs}." for case, *_ in of_style if case.differs]
        lines += [""] * bool(said) + [line for text in said for line in wrapped(text)]
    return "\n".join(lines) + "\n"


def wrapped(text: str) -> list[str]:
    """An item of a list."""
    lines = textwrap.wrap(text, 98, break_long_words=False, break_on_hyphens=False)
    return [("- " if number == 0 else "  ") + line for number, line in enumerate(lines)]
