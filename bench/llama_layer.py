"""One Llama layer on hidden states, as it is exported and as `bench/generate
--program=blocks` writes it: its sizes, plans for it, and the least that it computes."""

import dataclasses
import re

TYPE = re.compile(r'%\w+: tensor<([^>]*)> \{tp\.kind = "\w+", tp\.name = "([^"]*)"')
COLUMNS = ("attention.wq", "attention.wk", "attention.wv", "feed_forward.w1",
           "feed_forward.w3")
ROWS = ("attention.wo", "feed_forward.w2")
PLANS = ("megatron", "sequence-parallel")
WIDTHS = {"bf16": 2, "f16": 2, "f32": 4, "f64": 8}


@dataclasses.dataclass
class Layer:
    batch: int
    seq: int
    dim: int
    heads: int
    kv_heads: int
    head_dim: int
    ff: int
    element: str

    def flops(self, ranks, isCausal):
        """Of one rank's matrix products: a multiplication and an addition each. With
        isCausal, of scores and of their products with values, only those that the mask
        leaves."""
        tokens = self.batch * self.seq
        width = self.heads * self.head_dim
        kv = self.kv_heads * self.head_dim
        projections = 2 * tokens * self.dim * (2 * width + 2 * kv + 3 * self.ff)
        pairs = self.seq * (self.seq + 1) // 2 if isCausal else self.seq * self.seq
        attention = 4 * self.batch * pairs * width
        return (projections + attention) / ranks

    def least_bytes(self, ranks, plan):
        """What one rank has to read and write if nothing between is kept in memory: its
        weights, what it is given and what it gives, the tables of positions."""
        kv = self.kv_heads * self.head_dim
        weights = self.dim * (2 * self.heads * self.head_dim + 2 * kv + 3 * self.ff)
        norms, tables = 2 * self.dim, 2 * self.seq * self.head_dim
        states = 2 * self.batch * self.seq * self.dim
        if plan == "sequence-parallel":
            states /= ranks
        return int(WIDTHS[self.element] * (weights / ranks + norms + tables + states))


def read(path):
    """The layer in a file of MLIR, or None if it holds something else."""
    entry = ""
    with open(path) as file:
        for line in file:
            if "func.func @main" in line:
                entry = line
                break
    ports = {name: type.split("x") for type, name in TYPE.findall(entry)}
    weights = {name.removeprefix("layers.0."): [int(n) for n in type[:-1]]
               for name, type in ports.items() if name.startswith("layers.")}
    if any(name.startswith("layers.1.") for name in ports) or "x" not in ports or not {
            f"{name}.weight" for name in COLUMNS + ROWS} <= set(weights):
        return None
    batch, seq, dim = (int(n) for n in ports["x"][:-1])
    head = int(ports["rope_cos"][-2])
    return Layer(batch, seq, dim, weights["attention.wq.weight"][0] // head,
                 weights["attention.wk.weight"][0] // head, head,
                 weights["feed_forward.w1.weight"][0], ports["x"][-1])


def plan_text(plan, ranks):
    """Megatron's plan; or the one that splits hidden states along the sequence too."""
    isSplit = plan == "sequence-parallel"
    taken = " {input_layouts = [shard<1>]}" if isSplit else ""
    given = " {output_layouts = [shard<1>]}" if isSplit else ""
    states = "shard<1>" if isSplit else "replicate"
    lines = [f'tp.argument "x" {states}']
    if isSplit:
        lines += [f'tp.parallelize "layers.0.{norm}" with sequence_parallel'
                  for norm in ("attention_norm", "ffn_norm")]
    lines += [f'tp.parallelize "layers.0.{name}" with colwise{taken}' for name in COLUMNS]
    lines += [f'tp.parallelize "layers.0.{name}" with rowwise{given}' for name in ROWS]
    lines.append(f"tp.result 0 {states}")
    return (f'#mesh = #tp.mesh<"tp" = {ranks}>\ntp.plan @layer on #mesh["tp"] {{\n' +
            "".join(f"  {line}\n" for line in lines) + "}\n")
