"""A module that is changed in place between its export and the first use of its weights."""
from __future__ import annotations

import copy
import tempfile
import warnings
from collections.abc import Callable

import torch
from torch import nn

import tp

X = torch.randn(4, 8)


def module() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Linear(8, 4))


def change(changed: nn.Module) -> None:
    with torch.no_grad():
        for parameter in changed.parameters():
            parameter.mul_(3)


def said(what: str, use: Callable[[], torch.Tensor | None],
         want: torch.Tensor | None = None) -> None:
    try:
        got = use()
        right = got is None or want is None or torch.allclose(torch.as_tensor(got), want, atol=1e-5)
        print(f"{what}: {'equal' if right else 'WRONG'}")
    except tp.Error as error:
        print(f"{what}: {error}")


def steps_of(trained: nn.Module) -> list[float]:
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        loss = nn.functional.mse_loss(trained(X), X[:, :4])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


plan = {"0": "colwise", "2": "rowwise"}
first = module().eval()
model, want = tp.export(first, (X,)), first(X).detach()
program = tp.compile(model, plan=plan, mesh={"tp": 2})
change(first)
said("before the first call", lambda: program(X), want)
said("before compilation", lambda: tp.compile(model, plan=plan, mesh={"tp": 2})(X), want)
with tempfile.TemporaryDirectory() as folder:
    said("before it is saved", lambda: model.save(folder))
said("given again", lambda: tp.compile(model, plan=plan, mesh={"tp": 2},
                                       weights=first.state_dict())(X), first(X).detach())

second = module().eval()
program = tp.compile(tp.export(second, (X,)), plan=plan, mesh={"tp": 2})
said("a first call", lambda: program(X), second(X).detach())
want = second(X).detach()
change(second)
said("behind the first call", lambda: program(X), want)

third = module().train()
program = tp.compile(tp.export(copy.deepcopy(third).eval(), (X,)), plan=plan, mesh={"tp": 2})
want = copy.deepcopy(third).eval()(X).detach()
third(X)
said("a copy, and statistics of the module", lambda: program(X), want)
program = tp.compile(tp.export(third.eval(), (X,)), plan=plan, mesh={"tp": 2})
third.train()(X)
said("statistics", lambda: program(X))

fourth = module().train()
step = tp.compile(tp.export_training(fourth, nn.functional.mse_loss, torch.optim.SGD,
                                     (X, X[:, :4])), mesh={"dp": 2}, plan={"": "data_parallel"})
steps_of(fourth)
said("a reference that is trained first", lambda: step(X, X[:, :4]))

fifth = module().eval()
program = tp.compile(tp.export(fifth, (X,)))
fifth[0].weight.data.mul_(3)
said("what torch does not count", lambda: program(X))

with torch.inference_mode():
    sixth = nn.Linear(8, 4).requires_grad_(False)
said("tensors that count no changes", lambda: tp.compile(tp.export(sixth, (X,)))(X),
     X @ sixth.weight.clone().T + sixth.bias.clone())


def warned(what: str, use: Callable[[], object]) -> None:
    """The warnings of a use, and the file that they are shown at."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        use()
    here = {warning.filename == __file__ for warning in found} <= {True}
    print(f"{what}: {[str(warning.message) for warning in found]}{'' if here else ' ELSEWHERE'}")


# Other tensors in the place of those that were exported.
seventh = module().eval()
model, want = tp.export(seventh, (X,)), seventh(X).detach()
program = tp.compile(model, plan=plan, mesh={"tp": 2})
seventh[0].weight.data = torch.zeros(8, 8)
seventh[2] = nn.Linear(8, 4)
warned("replaced before the first call", lambda: said("the old numbers", lambda: program(X), want))
eighth = module().eval()
model = tp.export(eighth, (X,))
eighth[0] = nn.Identity()
warned("replaced before compilation, told once",
       lambda: tp.compile(model, plan=plan, mesh={"tp": 2})(X))
ninth = module().eval()
model = tp.export(ninth, (X,))
ninth.load_state_dict(copy.deepcopy(ninth.state_dict()), assign=True)
warned("equal ones", lambda: tp.compile(model, plan=plan, mesh={"tp": 2})(X))
ninth[0].bias = nn.Parameter(torch.ones(8))
with tempfile.TemporaryDirectory() as folder:
    warned("replaced before it is saved", lambda: model.save(folder))
