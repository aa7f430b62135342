"""Random numbers of exported modules: the numbers themselves, on every mesh, forward and backward.

    random_numbers.py

A number is a function of the element's place, so it is compared with Philox in numpy, and its bits
with those of one rank. Sums of the training step are exact, so its bits are too.
"""
from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import tp

MESHES = [{"tp": 1}, {"tp": 2}, {"tp": 3}, {"tp": 4}, {"dp": 2, "tp": 2}]
M = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
W = (0x9E3779B9, 0xBB67AE85)
MASK = np.uint64(0xFFFFFFFF)


def philox(counter, key):
    """Philox 4x32-10: four words of four words (arrays of uint64) and a key of two."""
    x, k = [np.asarray(word, np.uint64) for word in counter], list(key)
    for _ in range(10):
        products = (M[0] * x[0], M[1] * x[2])
        high = [product >> np.uint64(32) for product in products]
        low = [product & MASK for product in products]
        x = [high[1] ^ x[1] ^ np.uint64(k[0]), low[1], high[0] ^ x[3] ^ np.uint64(k[1]), low[0]]
        k = [(word + step) & 0xFFFFFFFF for word, step in zip(k, W)]
    return [word & MASK for word in x]


def words(shape, op, seed=0, step=0):
    index = np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)
    return philox([index & MASK, index >> np.uint64(32), op, step],
                  [seed & 0xFFFFFFFF, seed >> 32])


def uniform(shape, op, seed=0, step=0):
    return ((words(shape, op, seed, step)[0] >> np.uint64(8)) * 2.0**-24).astype(np.float32)


def uniform_f64(shape, op):
    w = words(shape, op)
    return ((w[0] >> np.uint64(5)) * 2.0**26 + (w[1] >> np.uint64(6))) / 2.0**53


def normal(shape, op):
    w = words(shape, op)
    length = ((w[0] >> np.uint64(8)) + np.uint64(1)) * 2.0**-24
    turn = (w[1] >> np.uint64(8)) * 2.0**-24
    return np.sqrt(-2 * np.log(length)) * np.cos(2 * np.pi * turn)


def keep(shape, op, probability, seed=0, step=0):
    return words(shape, op, seed, step)[0] < round(probability * 2**32)


def known_answers():
    """The published vectors of Random123."""
    for counter, key, expected in [
            ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
            ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
            ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0],
             "d16cfe09 94fdcceb 5001e420 24126ea1")]:
        got = " ".join(f"{int(word):08x}" for word in philox(counter, key))
        assert got == expected, (got, expected)


class Factories(nn.Module):
    def forward(self):
        return (torch.rand(7, 6), torch.randn(5, 9), torch.rand(4, 3, dtype=torch.float64),
                torch.randint(3, 9, (11,)), torch.bernoulli(torch.full((6, 4), 0.25)),
                torch.rand(6, 5, dtype=torch.bfloat16), torch.randn(8, dtype=torch.float16),
                torch.empty(6, 7).exponential_(2.0), torch.empty(4, 4).uniform_(-1, 1),
                torch.zeros(4, 6), torch.ones(3, 4), torch.full((5, 2), 2.5))


def placement(shape, mesh):
    """Both axes cut where there are two dimensions."""
    first, last = tp.Shard(0), tp.Shard(len(shape) - 1)
    return {axis: where for axis, where in zip(mesh, (first, last))}


def plan_of(model, mesh):
    plan = {axis: {} for axis in mesh}
    for number, port in enumerate(model.results):
        if port.updates is None:
            for axis, where in placement(port.shape, mesh).items():
                plan[axis][f"result {number}"] = where
    return plan


def widened(x):
    return np.asarray(x, np.float32 if x.dtype.itemsize == 2 else x.dtype)


def factories():
    torch.manual_seed(0)
    model = tp.export(Factories())
    assert [*map(int, model.weights["rng_state"])] == [0, 0]
    one = None
    for mesh in MESHES:
        program = tp.compile(model, plan=plan_of(model, mesh), mesh=mesh)
        assert not program.collectives.rows, program.collectives
        with program:
            got = [widened(x) for x in program()]
            if one is None:
                second = program()
                program.state["rng_state"] = np.array([0, 0])
                again = program()
        for a, b, c in zip(got[:9], second[:9], again[:9]) if one is None else ():
            assert not np.array_equal(a, widened(b)), "a second step draws the same"
            assert np.array_equal(a, widened(c)), "a seed that is set again draws others"
        if one is None:
            one = got
            check(got)
        for number, (a, b) in enumerate(zip(one, got)):
            assert a.tobytes() == b.tobytes(), f"result {number} differs on {mesh}"
    print("factories: equal on", len(MESHES), "meshes")


def check(got):
    np.testing.assert_array_equal(got[0], uniform((7, 6), 0))
    np.testing.assert_allclose(got[1], normal((5, 9), 1), rtol=2e-5, atol=2e-6)
    np.testing.assert_array_equal(got[2], uniform_f64((4, 3), 2))
    np.testing.assert_array_equal(
        got[3], 3 + ((words((11,), 3)[0] * np.uint64(6)) >> np.uint64(32)).astype(np.int64))
    np.testing.assert_array_equal(got[4], uniform((6, 4), 4) < 0.25)
    np.testing.assert_array_equal(got[5], (words((6, 5), 5)[0] >> np.uint64(24)) * 2.0**-8)
    np.testing.assert_allclose(got[6], normal((8,), 6), rtol=2e-3)
    np.testing.assert_allclose(got[7], -np.log(1 - uniform((6, 7), 7)) / 2, rtol=1e-5)
    np.testing.assert_allclose(got[8], uniform((4, 4), 8) * 2 - 1, rtol=1e-6)
    assert (got[9] == 0).all() and (got[10] == 1).all() and (got[11] == 2.5).all()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(6, 12, bias=False), nn.Linear(12, 6, bias=False)
        self.first, self.last = nn.Dropout(0.5), nn.Dropout(0.5)

    def forward(self, x):
        return self.last(self.down(self.first(torch.relu(self.up(x)))))


class Drawn(nn.Module):
    """Dropout with the mask of the program."""

    def __init__(self, op, step):
        super().__init__()
        self.op, self.step = op, step

    def forward(self, x):
        return x * torch.from_numpy(keep(tuple(x.shape), self.op, 0.5, 5, self.step)) * 2


class Checkpointed(nn.Module):
    """A module that keeps no activations: what is exported computes them once."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False)


def loss_of(output, target):
    return ((output - target) * output).sum()


def training():
    """Two steps of small integers in f64, of which all sums are exact."""
    torch.manual_seed(5)
    net = Net().train().double()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.randint(-1, 2, parameter.shape))
    x, y = (torch.randint(-1, 2, (8, 6)).double() for _ in range(2))
    torch.manual_seed(5)
    model = tp.export_training(net, loss_of, lambda p: torch.optim.SGD(p, lr=2.0**-6), (x, y))
    kept = tp.export_training(Checkpointed(net), loss_of, torch.optim.SGD, (x, y))
    assert kept.mlir.count("linalg.index") == model.mlir.count("linalg.index"), "drawn again"
    expected = []
    reference = Net().double()
    reference.load_state_dict(net.state_dict())
    optimizer = torch.optim.SGD(reference.parameters(), lr=2.0**-6)
    for step in range(2):
        reference.first, reference.last = Drawn(0, step), Drawn(1, step)
        optimizer.zero_grad()
        loss = loss_of(reference(x), y)
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    style = {"up": tp.ColwiseParallel(), "down": tp.RowwiseParallel()}
    rows = {"argument x": tp.Shard(0), "argument target": tp.Shard(0)}
    for mesh in MESHES:
        plan = {"tp": style, "dp": rows} if "dp" in mesh else style
        with tp.compile(model, plan=plan, mesh=mesh) as program:
            losses = [float(program(x, y)) for _ in range(2)]
            assert losses == expected, (mesh, losses, expected)
            for name, parameter in reference.named_parameters():
                got = np.asarray(program.state[name])
                assert np.array_equal(got, parameter.detach().numpy()), (mesh, name)
            assert [*program.state["rng_state"]] == [5, 2]
    with tp.compile(model, plan={"tp": rows}, mesh={"tp": 3}) as program:
        assert [float(program(x, y)) for _ in range(2)] == expected, "the batch over 3 ranks"
    print("training: equal on", len(MESHES) + 1, "meshes")


class Many(nn.Module):
    def forward(self):
        return torch.rand(1000, 100), torch.randn(1000, 100), torch.bernoulli(
            torch.full((1000, 100), 0.3)), nn.functional.dropout(torch.ones(1000, 100), 0.1)


def statistics():
    torch.manual_seed(1234)
    with tp.compile(tp.export(Many().train())) as program:
        u, n, b, d = (np.asarray(x, np.float64) for x in program())
    count = u.size
    deviations = {
        "mean of uniform": (u.mean() - 0.5) * math.sqrt(12 * count),
        "variance of uniform": (u.var() - 1 / 12) * math.sqrt(180 * count),
        "mean of normal": n.mean() * math.sqrt(count),
        "variance of normal": (n.var() - 1) * math.sqrt(count / 2),
        "kurtosis of normal": ((n**4).mean() - 3) * math.sqrt(count / 96),
        "rate of bernoulli": (b.mean() - 0.3) * math.sqrt(count / 0.21),
        "rate of dropout": ((d > 0).mean() - 0.9) * math.sqrt(count / 0.09)}
    for name, x in (("uniform", u - 0.5), ("normal", n), ("bernoulli", b - 0.3)):
        flat = x.ravel() / x.std()
        for lag in (1, 2, 100):
            deviations[f"neighbours of {name} at {lag}"] = (
                flat[:-lag] * flat[lag:]).sum() / math.sqrt(count)
    deviations["uniform and normal"] = ((u - 0.5) * n).sum() / math.sqrt(count / 12)
    cells = np.histogram(u, 256, (0, 1))[0]
    chi = ((cells - count / 256)**2 / (count / 256)).sum()
    deviations["chi-square of 256 cells"] = (chi - 255) / math.sqrt(2 * 255)
    pairs = np.histogram2d(u.ravel()[::2], u.ravel()[1::2], 16, [(0, 1), (0, 1)])[0]
    chi = ((pairs - count / 512)**2 / (count / 512)).sum()
    deviations["chi-square of pairs"] = (chi - 255) / math.sqrt(2 * 255)
    assert set(np.unique(d)) == {0.0, np.float64(np.float32(1 / 0.9))}, np.unique(d)
    for name, deviation in deviations.items():
        assert abs(deviation) < 4, (name, deviation)
    print("statistics:", len(deviations), "within four deviations")


known_answers()
factories()
training()
statistics()
