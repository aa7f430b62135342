"""Llamas whose projections are taken apart in other ways: as transformers' Phi-3, gpt-oss and
Falcon write it, and one whose logits are gathered and scaled.

What is taken apart slice by slice has, as in PyTorch, a gradient for each slice in zeros of the
whole shape.
"""

import layers
import operations as op
from models.llama import Llama


class Sliced(Llama):
    """As Phi-3: one weight for queries, keys and values, one for gate and up."""

    def queries_keys_values(self, packed):
        sizes = self.segments()["wqkv.weight"]
        starts = [sum(sizes[:i]) for i in range(3)]
        parts = [op.part(packed, -1, start, size) for start, size in zip(starts, sizes)]
        s = self.sizes
        return [layers.heads(x, heads)
                for x, heads in zip(parts, (s.heads, s.kv_heads, s.kv_heads))]

    def gate_and_up(self, packed):
        ff = self.sizes.ff
        return op.part(packed, -1, 0, ff), op.part(packed, -1, ff, ff)


class Interleaved(Sliced):
    """As gpt-oss: columns of gate and up in turn."""

    def gate_and_up(self, packed):
        ff = self.sizes.ff
        return op.part(packed, -1, 0, ff, 2), op.part(packed, -1, 1, ff, 2)

    def segments(self):
        return {"wqkv.weight": super().segments()["wqkv.weight"]}


class Groups(Sliced):
    """As Falcon: each key/value head lies behind its queries."""

    def queries_keys_values(self, packed):
        s = self.sizes
        batch, seq, _ = packed.shape
        count = s.heads // s.kv_heads
        groups = op.reshape(packed, (batch, seq, s.kv_heads, count + 2, s.head_dim))
        parts = [op.part(groups, -2, 0, count), op.part(groups, -2, count, 1),
                 op.part(groups, -2, count + 1, 1)]
        return [layers.heads(op.reshape(x, (batch, seq, heads * s.head_dim)), heads)
                for x, heads in zip(parts, (s.heads, s.kv_heads, s.kv_heads))]

    def segments(self):
        return {"w13.weight": super().segments()["w13.weight"]}


class GatheredHead(Llama):
    """Logits that the plan gathers and the model scales."""

    def logits(self, graph, values):
        return op.scale(super().logits(graph, values), 0.5)

    def tensor_parallel(self):
        for name, style, options in super().tensor_parallel():
            gathered = "output_layouts = [replicate]" if name == "output" else options
            yield name, style, gathered

    def sequence_parallel(self):
        for name, style, options in super().sequence_parallel():
            yield name, style, options.replace("[replicate]input", "[replicate], input")
