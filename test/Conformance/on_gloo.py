"""What PyTorch makes of the cases on processes that talk through gloo.

    on_gloo.py FILE RANKS NAME ...

FILE becomes a dict from names of cases to Outcomes, or to the text of an error.
"""
from __future__ import annotations

import copy
import logging
import os
import pickle
import sys
import tempfile
import traceback
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.distributed.tensor._collective_utils as collective_utils
import torch.distributed.tensor.placement_types as placement_types
from outcome import Outcome, Sent
from torch import multiprocessing
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import loss_parallel, parallelize_module

from cases import CASES, Case

# Kind, and whether the result is the larger side.
KINDS = {"all_reduce": ("all_reduce", True), "all_gather_into_tensor": ("all_gather", True),
         "reduce_scatter_tensor": ("reduce_scatter", False),
         "all_to_all_single": ("all_to_all", True)}


class Counter(CommDebugMode):
    """CommDebugMode, with bytes. gloo has no all_to_all, and PyTorch gathers in its place: what
    counts is the all_to_all of devices."""

    def __init__(self, ranks: int) -> None:
        super().__init__()
        self.sent, self.ranks, self.is_inside = Sent(), ranks, False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_dispatch__(func, types, args, kwargs)
        if result is NotImplemented or self.is_inside:
            return result
        if getattr(func, "namespace", "") in ("_c10d_functional", "c10d_functional"):
            name = func._opname.removesuffix("_")
            if name in KINDS:
                kind, is_result = KINDS[name]
                tensor = result if is_result else args[0]
                self.sent.add(kind, tensor.numel() * tensor.element_size(), self.ranks)
            elif name not in ("wait_tensor", "_wrap_tensor_autograd"):
                raise ValueError(f"a collective of another kind: {name}")
        return result

    def all_to_all(self, value: torch.Tensor, *more: Any) -> torch.Tensor:
        """In place of shard_dim_alltoall."""
        self.sent.add("all_to_all", value.numel() * value.element_size(), self.ranks)
        self.is_inside = True
        try:
            return ALL_TO_ALL(value, *more)  # type: ignore[no-any-return]
        finally:
            self.is_inside = False


ALL_TO_ALL = collective_utils.shard_dim_alltoall


def part_of(value: torch.Tensor, layout: Any, mesh: DeviceMesh) -> torch.Tensor:
    """A rank's part, as torch's chunks; of a partial one an addend."""
    if isinstance(layout, Partial):
        share = value / mesh.size()
        return share + mesh.get_local_rank() - (mesh.size() - 1) / 2
    if not isinstance(layout, Shard):
        return value.clone()
    return distribute_tensor(value, mesh, [layout], src_data_rank=None).to_local().clone()


def whole(value: torch.Tensor, layout: Any, mesh: DeviceMesh) -> torch.Tensor:
    """The value of which a rank has this."""
    if isinstance(value, DTensor):
        return value.full_tensor().detach()
    value = value.detach().clone()  # which waits for what is under way
    if isinstance(layout, Partial):
        dist.all_reduce(value, group=mesh.get_group())
        return value
    if not isinstance(layout, Shard):
        return value
    parts: list[Any] = [None] * mesh.size()
    dist.all_gather_object(parts, value, mesh.get_group())
    return torch.cat(parts, layout.dim)


def whole_of_rank(value: torch.Tensor) -> torch.Tensor:
    """What this rank has of the value."""
    return value.to_local() if isinstance(value, DTensor) else value


def add_gradients(module: torch.nn.Module, data: DeviceMesh) -> None:
    """Adds up the gradients of the replicas, in one bucket as DistributedDataParallel."""
    gradients = [whole_of_rank(value.grad) for value in module.parameters()
                 if value.grad is not None]
    total = funcol.all_reduce(torch.cat([each.flatten() for each in gradients]), "sum", data)
    for each, part in zip(gradients, total.split([each.numel() for each in gradients])):
        each.copy_(part.view_as(each))


def step(case: Case, module: torch.nn.Module, result: Any, target: torch.Tensor | None,
         mesh: DeviceMesh, data: DeviceMesh | None) -> torch.Tensor:
    """Backward and SGD with a learning rate of 1; the loss."""
    assert target is not None
    if case.loss is not None:
        target = distribute_tensor(target, mesh, [Replicate()], src_data_rank=None)
        with loss_parallel():
            loss = case.loss(result, target)
            loss.backward()  # type: ignore[no-untyped-call]
    else:
        layouts = result.placements if isinstance(result, DTensor) else None
        target = (distribute_tensor(target, mesh, layouts, src_data_rank=None) if layouts
                  else part_of(target, case.result, mesh))
        loss = (result * target).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        if isinstance(case.result, Shard):
            loss = funcol.all_reduce(whole_of_rank(loss.detach()), "sum", mesh)
        if data is not None:
            loss = funcol.all_reduce(whole_of_rank(loss.detach()), "sum", data)
            add_gradients(module, data)
    torch.optim.SGD(module.parameters(), lr=1.0, foreach=False).step()
    return loss


def run(case: Case, world: DeviceMesh) -> Outcome:
    """One case on one rank."""
    data = world["dp"] if case.data > 1 else None
    mesh = world["tp"] if case.data > 1 else world

    def of_replica(value: torch.Tensor) -> torch.Tensor:
        return value if data is None else value.chunk(case.data)[data.get_local_rank()]
    module = parallelize_module(copy.deepcopy(case.module), mesh, case.plan,
                                src_data_rank=None)
    inputs = [part_of(of_replica(value), case.ports.get(name), mesh)
              for name, value in case.inputs.items()]
    target = None if case.target is None else of_replica(case.target)
    outcome = Outcome(layouts={
        name: value.placements[0] if isinstance(value, DTensor) else Replicate()
        for name, value in module.named_parameters()})
    counter = Counter(mesh.size())
    placement_types.shard_dim_alltoall = counter.all_to_all
    with counter:
        result = module(*inputs)
        outcome.forward = counter.sent.copy()
        loss = step(case, module, result, target, mesh, data) if case.trains else None
    outcome.training = counter.sent
    outcome.result = whole(result, case.result, mesh)
    if data is not None:
        outcome.result = whole(outcome.result, Shard(0), data)
    if loss is not None:
        outcome.loss = float(whole(loss, None, mesh))
        outcome.parameters = {name: whole(value, None, mesh)
                              for name, value in module.named_parameters()}
    return outcome


def rank_main(rank: int, ranks: int, store: str, path: str, names: list[str]) -> None:
    """One process."""
    torch.set_num_threads(1)
    logging.disable()
    dist.init_process_group("gloo", rank=rank, world_size=ranks, init_method=f"file://{store}")
    meshes = {1: init_device_mesh("cpu", (ranks,), mesh_dim_names=("tp",))}
    outcomes: dict[str, Outcome | str] = {}
    for name in names:
        try:
            data = CASES[name].data
            if data not in meshes:
                meshes[data] = init_device_mesh("cpu", (data, ranks // data),
                                                mesh_dim_names=("dp", "tp"))
            outcomes[name] = run(CASES[name], meshes[data])
        except Exception as error:  # whatever PyTorch says is a row of the table
            text = traceback.format_exception_only(error)[-1].strip()
            outcomes[name] = text if "--trace" not in sys.argv else traceback.format_exc()
        dist.barrier()
    if rank == 0:
        with open(path, "wb") as file:
            pickle.dump(outcomes, file)
    dist.destroy_process_group()


def main() -> None:
    path, ranks, *names = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        # Forks, which need not import torch again; it has one thread here (OMP_NUM_THREADS).
        multiprocessing.start_processes(  # type: ignore[no-untyped-call]
            rank_main, (int(ranks), os.path.join(folder, "store"), path, names), int(ranks),
            start_method="fork")


if __name__ == "__main__":
    main()
