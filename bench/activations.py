"""What one layer of a transformer keeps for its backward pass, in bf16, beside Megatron's formula.

Two depths are compared: what a layer more adds to the arena of a rank, times the ranks, in bytes
per token and feature (sbh of the formula). Nothing runs.

The formula (Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models",
2022, table 2) is sbh (34 + 5 a s / h) / t with sequence parallelism; 34 sbh / t where attention is
computed again, 2 sbh / t where whole layers are.
"""
import warnings

# Heads of 128: the formula leaves out what is kept for each token and head, or token, alone.
SEQUENCE, BATCH, WIDTH, HEADS = 1024, 1, 1024, 8
FEW, DEEP = 3, 5
SCORES = 5 * HEADS * SEQUENCE / WIDTH
# What is computed again, and the bytes of the formula.
KEPT = (("nothing", (), 34 + SCORES),
        ("attention", ("layers.*.attention",), 34),
        ("layers", ("layers.*",), 2))


def model_of(torch, depth):
    """[batch, sequence, WIDTH] to the same, by pre-norm layers of GPT with dropout."""
    functional = torch.nn.functional

    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.o = (torch.nn.Linear(WIDTH, WIDTH) for _ in range(4))

        def forward(self, x):
            q, k, v = (part(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
                       for part in (self.q, self.k, self.v))
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.o(mixed.transpose(1, 2).flatten(2))

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
            self.attention = Attention()
            self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)
            self.drop = torch.nn.Dropout(0.1)

        def forward(self, x):
            x = x + self.drop(self.attention(self.first(x)))
            return x + self.drop(self.down(functional.gelu(self.up(self.second(x)))))

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(Layer() for _ in range(depth))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x
    return Model().to(torch.bfloat16).train()


def plan_of(tp, ranks, modules):
    """Megatron's plan with shards of the sequence, and what is computed again. What the plan
    gathers is gathered again, not kept."""
    again = {pattern: [tp.Recompute()] for pattern in modules}
    if ranks > 1:
        sequence = tp.Shard(1)
        styles = {
            "layers.*.first": tp.SequenceParallel(), "layers.*.second": tp.SequenceParallel(),
            "layers.*.attention": tp.PrepareModuleInput(input_layouts=sequence,
                                                        desired_input_layouts=tp.Replicate()),
            "layers.*.attention.[qkv]": tp.ColwiseParallel(),
            "layers.*.attention.o": tp.RowwiseParallel(output_layouts=sequence),
            "layers.*.up": tp.ColwiseParallel(input_layouts=sequence),
            "layers.*.down": tp.RowwiseParallel(output_layouts=sequence)}
        # Of a linear layer nothing is computed again but the gather of its input.
        if "layers.*" not in modules:
            again["layers.*.up"] = [tp.Recompute()]
        if not modules:
            again["layers.*.attention.[qkv]"] = [tp.Recompute()]
        for pattern, style in styles.items():
            again[pattern] = [style, *again.get(pattern, [])]
    return again


def print_table():
    """Prints the table."""
    import torch
    import tp
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    x = torch.randn(BATCH, SEQUENCE, WIDTH, dtype=torch.bfloat16)
    models = [tp.export_training(model_of(torch, depth), torch.nn.functional.mse_loss,
                                 torch.optim.SGD, (x, x)) for depth in (FEW, DEEP)]
    share = SEQUENCE * BATCH * WIDTH
    print("| computed again | ranks | formula | tp |\n|---|---|---|---|")
    for name, modules, least in KEPT:
        for ranks in 1, 4:
            plan, arenas = plan_of(tp, ranks, modules), []
            for model in models:
                with tp.compile(model, plan=plan, mesh={"tp": ranks}) as step:
                    arenas.append(step.memory["arena"])
            kept = (arenas[1] - arenas[0]) / (DEEP - FEW) * ranks / share
            print(f"| {name} | {ranks} | {least:.0f} | {kept:.1f} |", flush=True)
