#!/usr/bin/env python3
"""Writes a Llama of given sizes as the exporter would: linalg text, weights
and tokens. Needs only the standard library.

    llama.py --dim=512 --layers=4 --heads=8 --kv-heads=8 --ff=1376 \\
             --vocab=2048 --batch=1 --seq=128 -o DIR

DIR gets model.mlir, weights.safetensors and tokens.npy. Weights are random
normal with standard deviation 1/sqrt(columns); the same seed gives the same
bytes.
"""

import argparse
import array
import dataclasses
import json
import math
import os
import random
import struct
import sys


@dataclasses.dataclass
class Sizes:
    dim: int = 512
    layers: int = 4
    heads: int = 8
    kv_heads: int = 8
    ff: int = 1376
    vocab: int = 2048
    batch: int = 1
    seq: int = 128

    @property
    def head_dim(self):
        return self.dim // self.heads

    def parameters(self):
        """(name, kind, shape) of all arguments but the tokens."""
        kv = self.kv_heads * self.head_dim
        yield "tok_embeddings.weight", "parameter", (self.vocab, self.dim)
        for i in range(self.layers):
            p = f"layers.{i}."
            yield p + "attention.wq.weight", "parameter", (self.dim, self.dim)
            yield p + "attention.wk.weight", "parameter", (kv, self.dim)
            yield p + "attention.wv.weight", "parameter", (kv, self.dim)
            yield p + "attention.wo.weight", "parameter", (self.dim, self.dim)
            yield p + "feed_forward.w1.weight", "parameter", (self.ff, self.dim)
            yield p + "feed_forward.w2.weight", "parameter", (self.dim, self.ff)
            yield p + "feed_forward.w3.weight", "parameter", (self.ff, self.dim)
            yield p + "attention_norm.weight", "parameter", (self.dim,)
            yield p + "ffn_norm.weight", "parameter", (self.dim,)
        yield "norm.weight", "parameter", (self.dim,)
        yield "output.weight", "parameter", (self.vocab, self.dim)
        yield "rope_cos", "buffer", (self.seq, self.head_dim)
        yield "rope_sin", "buffer", (self.seq, self.head_dim)


def tensor(shape, element="f32"):
    return "tensor<" + "".join(f"{n}x" for n in shape) + element + ">"


class Writer:
    """Collects the text of one function, and the module table."""

    def __init__(self):
        self.lines = []
        self.values = 0
        self.nodes = {}
        self.modules = []
        self.module = ""

    def node(self, base):
        """A graph node's name, unique, as torch counts them."""
        n = self.nodes.get(base, 0)
        self.nodes[base] = n + 1
        return f"{base}_{n}" if n else base

    def loc(self, node):
        return f'loc("{self.module}"("{node}"))'

    def op(self, text, node, results=1):
        name = f"%v{self.values}"
        self.values += 1
        left = name if results == 1 else f"{name}:{results}"
        self.lines.append(f"    {left} = {text} {self.loc(node)}")
        return name

    def empty(self, shape, element, node):
        return self.op(f"tensor.empty() : {tensor(shape, element)}", node)

    def fill(self, value, shape, element, node):
        init = self.empty(shape, element, node)
        t = tensor(shape, element)
        return self.op(
            f"linalg.fill ins({value} : {element}) outs({init} : {t}) -> {t}", node)

    def generic(self, node, loops, inputs, outputs, body, reductions=()):
        """inputs: (value, shape, element, map text); outputs the same."""
        dims = ", ".join(f"d{i}" for i in range(loops))
        maps = ", ".join(f"affine_map<({dims}) -> ({m})>"
                         for *_, m in inputs + outputs)
        kinds = ", ".join('"reduction"' if i in reductions else '"parallel"'
                          for i in range(loops))

        def group(word, rows):
            if not rows:
                return ""
            names = ", ".join(r[0] for r in rows)
            types = ", ".join(tensor(r[1], r[2]) for r in rows)
            return f" {word}({names} : {types})"

        arguments = ", ".join(
            [f"%i{k}: {r[2]}" for k, r in enumerate(inputs)] +
            [f"%o{k}: {r[2]}" for k, r in enumerate(outputs)])
        types = [tensor(r[1], r[2]) for r in outputs]
        arrow = types[0] if len(types) == 1 else "(" + ", ".join(types) + ")"
        text = (f"linalg.generic {{indexing_maps = [{maps}], "
                f"iterator_types = [{kinds}]}}"
                f"{group('ins', inputs)}{group('outs', outputs)} {{\n"
                f"    ^bb0({arguments}):\n" +
                "".join(f"      {line}\n" for line in body) +
                f"    }} -> {arrow}")
        return self.op(text, node, len(outputs))

    def elementwise(self, base, shape, inputs, body, element="f32", node=None):
        """inputs: (value, shape, element) or with a map."""
        node = node or self.node(base)
        rank = len(shape)
        identity = ", ".join(f"d{i}" for i in range(rank))
        rows = [(i[0], i[1], i[2], i[3] if len(i) > 3 else identity)
                for i in inputs]
        out = self.empty(shape, element, node)
        return self.generic(node, rank, rows, [(out, shape, element, identity)],
                            body), node

    def transpose(self, value, shape, permutation, node, element="f32"):
        to = [shape[p] for p in permutation]
        init = self.empty(to, element, node)
        return self.op(
            f"linalg.transpose ins({value} : {tensor(shape, element)}) "
            f"outs({init} : {tensor(to, element)}) "
            f"permutation = {list(permutation)}", node), to

    def reshape(self, kind, value, shape, to, groups, node, element="f32"):
        extra = (f" output_shape {list(to)}" if kind == "expand" else "")
        return self.op(
            f"tensor.{kind}_shape {value} {groups}{extra} : "
            f"{tensor(shape, element)} into {tensor(to, element)}", node)

    def row(self, name, cls, inputs, outputs):
        self.modules.append(
            f'{{class = "{cls}", inputs = [{quoted(inputs)}], '
            f'name = "{name}", outputs = [{quoted(outputs)}]}}')


def quoted(names):
    return ", ".join(f'"{n}"' for n in names)


class Llama:
    def __init__(self, sizes):
        self.s = sizes
        self.w = Writer()
        self.args = {name: (f"%arg{i}", shape)
                     for i, (name, _, shape) in enumerate(sizes.parameters())}

    def linear(self, name, x, x_node, width):
        """x: [batch, seq, k] to [batch * seq, width], and its node."""
        w, s = self.w, self.s
        outer, w.module = w.module, name
        weight, shape = self.args[name + ".weight"]
        k = shape[1]
        permute, view, mm, out = (w.node("permute"), w.node("view"),
                                  w.node("mm"), w.node("view"))
        transposed, _ = w.transpose(weight, shape, [1, 0], permute)
        rows = s.batch * s.seq
        flat = w.reshape("collapse", x, (s.batch, s.seq, k), (rows, k),
                         [[0, 1], [2]], view)
        zero = w.fill("%zero", (rows, width), "f32", mm)
        to = tensor((rows, width))
        y = w.op(f"linalg.matmul ins({flat}, {transposed} : "
                 f"{tensor((rows, k))}, {tensor((k, width))}) "
                 f"outs({zero} : {to}) -> {to}", mm)
        w.row(name, "Linear", [x_node], [out])
        w.module = outer
        return y, out

    def expand(self, y, width, node):
        s = self.s
        return self.w.reshape("expand", y, (s.batch * s.seq, width),
                              (s.batch, s.seq, width), [[0, 1], [2]], node)

    def norm(self, name, x, x_node):
        w, s = self.w, self.s
        outer, w.module = w.module, name
        shape, one = (s.batch, s.seq, s.dim), (s.batch, s.seq, 1)
        square, _ = w.elementwise("pow", shape, [(x, shape, "f32")], [
            "%p = math.fpowi %i0, %two : f32, i64", "linalg.yield %p : f32"])
        mean = w.node("mean")
        zero = w.fill("%zero", one, "f32", mean)
        total = w.generic(mean, 3, [(square, shape, "f32", "d0, d1, d2")],
                          [(zero, one, "f32", "d0, d1, 0")],
                          ["%p = arith.addf %i0, %o0 : f32",
                           "linalg.yield %p : f32"], {2})
        average, _ = w.elementwise("mean", one, [(total, one, "f32")], [
            "%p = arith.divf %i0, %size : f32", "linalg.yield %p : f32"], node=mean)
        shifted, _ = w.elementwise("add", one, [(average, one, "f32")], [
            "%e = arith.truncf %eps : f64 to f32",
            "%p = arith.addf %i0, %e : f32", "linalg.yield %p : f32"])
        scale, _ = w.elementwise("rsqrt", one, [(shifted, one, "f32")], [
            "%p = math.rsqrt %i0 : f32", "linalg.yield %p : f32"])
        multiply = ["%p = arith.mulf %i0, %i1 : f32", "linalg.yield %p : f32"]
        scaled, _ = w.elementwise("mul", shape, [
            (x, shape, "f32"), (scale, one, "f32", "d0, d1, 0")], multiply)
        weight, _ = self.args[name + ".weight"]
        y, node = w.elementwise("mul", shape, [
            (scaled, shape, "f32"), (weight, (s.dim,), "f32", "d2")], multiply)
        w.row(name, "RMSNorm", [x_node], [node])
        w.module = outer
        return y, node

    def heads(self, y, count):
        """[batch * seq, count * head_dim] to [batch, count, seq, head_dim]."""
        w, s = self.w, self.s
        view, permute = w.node("view"), w.node("permute")
        split = w.reshape(
            "expand", y, (s.batch * s.seq, count * s.head_dim),
            (s.batch, s.seq, count, s.head_dim), [[0, 1], [2, 3]], view)
        return w.transpose(split, (s.batch, s.seq, count, s.head_dim),
                           [0, 2, 1, 3], permute)[0]

    def rotate(self, x, count):
        w, s = self.w, self.s
        d, half = s.head_dim, s.head_dim // 2
        shape, part = (s.batch, count, s.seq, d), (s.batch, count, s.seq, half)
        table = (s.seq, d)
        multiply = ["%p = arith.mulf %i0, %i1 : f32", "linalg.yield %p : f32"]
        cosine, _ = w.elementwise("mul", shape, [
            (x, shape, "f32"), (self.args["rope_cos"][0], table, "f32", "d2, d3")],
            multiply)
        slices = []
        for start in (0, half):
            node = w.node("getitem")
            slices.append(w.op(
                f"tensor.extract_slice {x}[0, 0, 0, {start}] {list(part)} "
                f"[1, 1, 1, 1] : {tensor(shape)} to {tensor(part)}", node))
        negative, _ = w.elementwise("neg", part, [(slices[1], part, "f32")], [
            "%p = arith.negf %i0 : f32", "linalg.yield %p : f32"])
        cat = w.op(f"tensor.concat dim(3) {negative}, {slices[0]} : "
                   f"({tensor(part)}, {tensor(part)}) -> {tensor(shape)}",
                   w.node("cat"))
        sine, _ = w.elementwise("mul", shape, [
            (cat, shape, "f32"), (self.args["rope_sin"][0], table, "f32", "d2, d3")],
            multiply)
        return w.elementwise("add", shape, [
            (cosine, shape, "f32"), (sine, shape, "f32")],
            ["%p = arith.addf %i0, %i1 : f32", "linalg.yield %p : f32"])[0]

    def repeat(self, x):
        """Key/value heads to all heads, as [batch, kv, repeats, seq, dim]."""
        w, s = self.w, self.s
        n = s.heads // s.kv_heads
        shape = (s.batch, s.kv_heads, s.seq, s.head_dim)
        wide = (s.batch, s.kv_heads, n, s.seq, s.head_dim)
        return w.elementwise("expand", wide, [(x, shape, "f32", "d0, d1, d3, d4")],
                             ["linalg.yield %i0 : f32"])[0], wide

    def mask(self):
        w, s = self.w, self.s
        square = (s.seq, s.seq)
        keep, _ = w.elementwise("le", square, [], [
            "%r = linalg.index 0 : index", "%c = linalg.index 1 : index",
            "%p = arith.cmpi sle, %c, %r : index", "linalg.yield %p : i1"], "i1")
        return w.elementwise("where", square, [(keep, square, "i1")], [
            "%p = arith.select %i0, %zero, %lowest : f32",
            "linalg.yield %p : f32"])[0]

    def softmax(self, x):
        w, s = self.w, self.s
        shape = (s.batch, s.heads, s.seq, s.seq)
        row, one = shape[:3], shape[:3] + (1,)
        node = w.node("_softmax")
        index0 = w.fill("%none", row, "i64", node)
        lowest = w.fill("%lowest", row, "f32", node)
        highest = w.generic(
            node, 4, [(x, shape, "f32", "d0, d1, d2, d3")],
            [(lowest, row, "f32", "d0, d1, d2"), (index0, row, "i64", "d0, d1, d2")],
            ["%d = linalg.index 3 : index", "%n = arith.index_cast %d : index to i64",
             "%m = arith.maximumf %i0, %o0 : f32",
             "%g = arith.cmpf ogt, %i0, %o0 : f32",
             "%a = arith.select %g, %n, %o1 : i64",
             "linalg.yield %m, %a : f32, i64"], {3})
        top = w.reshape("expand", highest + "#0", row, one, [[0], [1], [2, 3]], node)
        less, _ = w.elementwise("sub", shape, [
            (x, shape, "f32"), (top, one, "f32", "d0, d1, d2, 0")],
            ["%p = arith.subf %i0, %i1 : f32", "linalg.yield %p : f32"], node=node)
        power, _ = w.elementwise("exp", shape, [(less, shape, "f32")], [
            "%p = math.exp %i0 : f32", "linalg.yield %p : f32"], node=node)
        zero = w.fill("%zero", one, "f32", node)
        total = w.generic(node, 4, [(power, shape, "f32", "d0, d1, d2, d3")],
                          [(zero, one, "f32", "d0, d1, d2, 0")],
                          ["%p = arith.addf %i0, %o0 : f32",
                           "linalg.yield %p : f32"], {3})
        share, _ = w.elementwise("div", shape, [
            (power, shape, "f32"), (total, one, "f32", "d0, d1, d2, 0")],
            ["%p = arith.divf %i0, %i1 : f32", "linalg.yield %p : f32"], node=node)
        # scaled_dot_product_attention gives 0 for rows that see nothing.
        unseen, _ = w.elementwise("eq", shape, [(x, shape, "f32")], [
            "%e = arith.extf %i0 : f32 to f64",
            "%p = arith.cmpf oeq, %e, %lowest64 : f64", "linalg.yield %p : i1"], "i1")
        node = w.node("all")
        yes = w.fill("%true", one, "i1", node)
        none = w.generic(node, 4, [(unseen, shape, "i1", "d0, d1, d2, d3")],
                         [(yes, one, "i1", "d0, d1, d2, 0")],
                         ["%p = arith.andi %i0, %o0 : i1", "linalg.yield %p : i1"], {3})
        return w.elementwise("where", shape, [
            (none, one, "i1", "d0, d1, d2, 0"), (share, shape, "f32")],
            ["%p = arith.select %i0, %zero, %i1 : f32", "linalg.yield %p : f32"])[0]

    def attention(self, name, x, x_node, mask):
        w, s = self.w, self.s
        outer, w.module = w.module, name
        d, kv = s.head_dim, s.kv_heads * s.head_dim
        q, _ = self.linear(name + ".wq", x, x_node, s.dim)
        k, _ = self.linear(name + ".wk", x, x_node, kv)
        v, _ = self.linear(name + ".wv", x, x_node, kv)
        q = self.rotate(self.heads(q, s.heads), s.heads)
        k = self.rotate(self.heads(k, s.kv_heads), s.kv_heads)
        v = self.heads(v, s.kv_heads)
        scale = ["%p = arith.mulf %i0, %root : f32", "linalg.yield %p : f32"]
        shape = (s.batch, s.heads, s.seq, d)
        bh = s.batch * s.heads
        (k, wide), (v, _) = self.repeat(k), self.repeat(v)
        node = w.node("view")
        k = w.reshape("collapse", k, wide, shape, [[0], [1, 2], [3], [4]], node)
        q, _ = w.elementwise("mul", shape, [(q, shape, "f32")], scale)
        k, k_shape = w.transpose(k, shape, [0, 1, 3, 2], w.node("permute"))
        k, _ = w.elementwise("mul", k_shape, [(k, k_shape, "f32")], scale)
        node = w.node("bmm")
        q = w.reshape("collapse", q, shape, (bh, s.seq, d), [[0, 1], [2], [3]], node)
        k = w.reshape("collapse", k, k_shape, (bh, d, s.seq), [[0, 1], [2], [3]], node)
        score_shape = (bh, s.seq, s.seq)
        zero = w.fill("%zero", score_shape, "f32", node)
        to = tensor(score_shape)
        scores = w.op(f"linalg.batch_matmul ins({q}, {k} : "
                      f"{tensor((bh, s.seq, d))}, {tensor((bh, d, s.seq))}) "
                      f"outs({zero} : {to}) -> {to}", node)
        full = (s.batch, s.heads, s.seq, s.seq)
        scores = w.reshape("expand", scores, score_shape, full,
                           [[0, 1], [2], [3]], w.node("view"))
        masked, _ = w.elementwise("add", full, [
            (scores, full, "f32"), (mask, (s.seq, s.seq), "f32", "d2, d3")],
            ["%p = arith.addf %i0, %i1 : f32", "linalg.yield %p : f32"])
        weights = self.softmax(masked)
        node = w.node("bmm")
        weights = w.reshape("collapse", weights, full, score_shape,
                            [[0, 1], [2], [3]], node)
        v = w.reshape("collapse", v, wide, (bh, s.seq, d),
                      [[0, 1, 2], [3], [4]], node)
        zero = w.fill("%zero", (bh, s.seq, d), "f32", node)
        to = tensor((bh, s.seq, d))
        y = w.op(f"linalg.batch_matmul ins({weights}, {v} : {tensor(score_shape)}, "
                 f"{to}) outs({zero} : {to}) -> {to}", node)
        y = w.reshape("expand", y, (bh, s.seq, d), shape, [[0, 1], [2], [3]],
                      w.node("view"))
        y, _ = w.transpose(y, shape, [0, 2, 1, 3], w.node("permute"))
        node = w.node("view")
        y = w.reshape("collapse", y, (s.batch, s.seq, s.heads, d),
                      (s.batch, s.seq, s.dim), [[0], [1], [2, 3]], node)
        y, out = self.linear(name + ".wo", y, node, s.dim)
        w.module = name + ".wo"
        y = self.expand(y, s.dim, out)
        w.row(name, "Attention", [x_node], [out])
        w.module = outer
        return y, out

    def feed_forward(self, name, x, x_node):
        w, s = self.w, self.s
        outer, w.module = w.module, name
        shape = (s.batch, s.seq, s.ff)
        gate, node = self.linear(name + ".w1", x, x_node, s.ff)
        gate = self.expand(gate, s.ff, node)
        sigmoid, _ = w.elementwise("sigmoid", shape, [(gate, shape, "f32")], [
            "%n = arith.negf %i0 : f32", "%e = math.exp %n : f32",
            "%a = arith.addf %e, %one : f32", "%p = arith.divf %one, %a : f32",
            "linalg.yield %p : f32"])
        multiply = ["%p = arith.mulf %i0, %i1 : f32", "linalg.yield %p : f32"]
        gate, _ = w.elementwise("mul", shape, [
            (gate, shape, "f32"), (sigmoid, shape, "f32")], multiply)
        up, node = self.linear(name + ".w3", x, x_node, s.ff)
        up = self.expand(up, s.ff, node)
        y, node = w.elementwise("mul", shape, [
            (gate, shape, "f32"), (up, shape, "f32")], multiply)
        y, out = self.linear(name + ".w2", y, node, s.dim)
        w.module = name + ".w2"
        y = self.expand(y, s.dim, out)
        w.row(name, "FeedForward", [x_node], [out])
        w.module = outer
        return y, out

    def embedding(self):
        w, s = self.w, self.s
        w.module = "tok_embeddings"
        shape = (s.batch, s.seq, s.dim)
        table, table_shape = self.args["tok_embeddings.weight"]
        y, node = w.elementwise(
            "embedding", shape, [("%tokens", (s.batch, s.seq), "i64", "d0, d1")], [
                "%t = arith.index_cast %i0 : i64 to index",
                "%c = linalg.index 2 : index",
                "%a = arith.cmpi slt, %t, %vocab : index",
                'cf.assert %a, "index must be smaller than dim size"',
                "%b = arith.cmpi sge, %i0, %none : i64",
                'cf.assert %b, "index must be larger or equal to 0"',
                f"%p = tensor.extract {table}[%t, %c] : {tensor(table_shape)}",
                "linalg.yield %p : f32"])
        w.row("tok_embeddings", "Embedding", ["tokens"], [node])
        return y, node

    def text(self):
        w, s = self.w, self.s
        shape = (s.batch, s.seq, s.dim)
        x, node = self.embedding()
        w.module = "layers.0.attention"
        mask = self.mask()
        add = ["%p = arith.addf %i0, %i1 : f32", "linalg.yield %p : f32"]
        for i in range(s.layers):
            name = w.module = f"layers.{i}"
            first = node
            h, h_node = self.norm(name + ".attention_norm", x, node)
            y, _ = self.attention(name + ".attention", h, h_node, mask)
            x, node = w.elementwise("add", shape, [
                (x, shape, "f32"), (y, shape, "f32")], add)
            h, h_node = self.norm(name + ".ffn_norm", x, node)
            y, _ = self.feed_forward(name + ".feed_forward", h, h_node)
            x, node = w.elementwise("add", shape, [
                (x, shape, "f32"), (y, shape, "f32")], add)
            w.row(name, "Block", [first], [node])
        h, h_node = self.norm("norm", x, node)
        y, out = self.linear("output", h, h_node, s.vocab)
        w.module = "output"
        y = self.expand(y, s.vocab, out)
        arguments = [
            f'%arg{i}: {tensor(shape)} {{tp.kind = "{kind}", tp.name = "{name}"}}'
            for i, (name, kind, shape) in enumerate(s.parameters())]
        arguments.append(
            f'%tokens: {tensor((s.batch, s.seq), "i64")} '
            '{tp.kind = "user_input", tp.name = "tokens"}')
        result = tensor((s.batch, s.seq, s.vocab))
        size = float(s.dim)
        root = 1.0 / math.sqrt(math.sqrt(s.head_dim))
        return "\n".join(
            [f"module attributes {{tp.modules = [{', '.join(w.modules)}]}} {{",
             f"  func.func @main({', '.join(arguments)}) -> ({result} "
             f'{{tp.kind = "user_output", tp.name = "{out}"}}) {{',
             "    %zero = arith.constant 0.0 : f32",
             "    %one = arith.constant 1.0 : f32",
             f"    %size = arith.constant {size:e} : f32",
             f"    %root = arith.constant {root:.9e} : f32",
             "    %eps = arith.constant 1.0e-05 : f64",
             "    %lowest = arith.constant 0xFF800000 : f32",
             "    %lowest64 = arith.constant 0xFFF0000000000000 : f64",
             "    %true = arith.constant true",
             "    %none = arith.constant 0 : i64",
             "    %two = arith.constant 2 : i64",
             f"    %vocab = arith.constant {s.vocab} : index"] + w.lines +
            [f"    return {y} : {result}", "  }", "}", ""])


def normal_table(rng):
    return [rng.gauss(0.0, 1.0) for _ in range(1 << 16)]


def values_of(name, shape, sizes, rng, table):
    if name in ("rope_cos", "rope_sin"):
        f = math.cos if name == "rope_cos" else math.sin
        half = sizes.head_dim // 2
        return array.array("f", [
            f(p * 10000.0 ** (-(i % half) / half))
            for p in range(sizes.seq) for i in range(sizes.head_dim)])
    count = math.prod(shape)
    if len(shape) == 1:
        return array.array("f", [1.0 + 0.1 * table[rng.getrandbits(16)]
                                 for _ in range(count)])
    scale = 1.0 if name.startswith("tok_") else 1.0 / math.sqrt(shape[1])
    scaled = [v * scale for v in table]
    picks = array.array("H", rng.randbytes(2 * count))
    return array.array("f", map(scaled.__getitem__, picks))


def write_weights(path, sizes, seed):
    rng = random.Random(seed)
    table = normal_table(rng)
    header, offset, blobs = {}, 0, []
    for name, _, shape in sizes.parameters():
        data = values_of(name, shape, sizes, rng, table)
        if sys.byteorder == "big":
            data.byteswap()
        blob = data.tobytes()
        header[name] = {"dtype": "F32", "shape": list(shape),
                        "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for blob in blobs:
            file.write(blob)


def write_tokens(path, sizes, seed):
    rng = random.Random(seed + 1)
    data = [rng.randrange(sizes.vocab) for _ in range(sizes.batch * sizes.seq)]
    header = ("{'descr': '<i8', 'fortran_order': False, 'shape': "
              f"({sizes.batch}, {sizes.seq}), }}")
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                   header.encode() + struct.pack(f"<{len(data)}q", *data))


def add_size_arguments(parser):
    for field in dataclasses.fields(Sizes):
        parser.add_argument("--" + field.name.replace("_", "-"), type=int,
                            default=field.default)


def sizes_of(options):
    sizes = Sizes(**{field.name: getattr(options, field.name)
                     for field in dataclasses.fields(Sizes)})
    if sizes.dim % sizes.heads or sizes.heads % sizes.kv_heads or sizes.head_dim % 2:
        raise SystemExit(
            "llama.py: expected heads that divide dim into an even head size and "
            f"kv-heads that divide heads, got dim {sizes.dim}, heads {sizes.heads}, "
            f"kv-heads {sizes.kv_heads}")
    return sizes


def generate(directory, sizes, seed=0):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "model.mlir"), "w") as file:
        file.write(Llama(sizes).text())
    write_weights(os.path.join(directory, "weights.safetensors"), sizes, seed)
    write_tokens(os.path.join(directory, "tokens.npy"), sizes, seed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_size_arguments(parser)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    generate(options.output, sizes_of(options), options.seed)


if __name__ == "__main__":
    main()
