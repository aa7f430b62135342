"""`hf:FOLDER` as a plan: from a config.json alone, and what is wrong with one.

    folder_plan.py FOLDER
"""
from __future__ import annotations

import contextlib
import io
import os
import sys

import torch
import transformers

import tp
import tp.__main__

FOLDER = sys.argv[1]
CONFIG = transformers.LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48,
                                  num_hidden_layers=2, num_attention_heads=4, use_cache=False)


def folder(name: str, config: transformers.PretrainedConfig) -> str:
    """A folder with a config.json and nothing else."""
    path = os.path.join(FOLDER, name)
    config.save_pretrained(path)
    return path


module = transformers.LlamaForCausalLM(CONFIG).eval()
tokens = torch.arange(16).reshape(2, 8)
CONFIG.architectures = ["LlamaForCausalLM"]
llama = folder("llama", CONFIG)
wrong = folder("wrong", CONFIG)
with open(os.path.join(wrong, "config.json"), "w", encoding="utf-8") as file:
    file.write('{"model_type": "no such model"}')
bert = folder("bert", transformers.BertConfig(hidden_size=32, num_attention_heads=4))

own = tp.export(module, (tokens,))
bare = tp.Model(own.mlir, own.arguments, own.results, own.weights)
saved = os.path.join(FOLDER, "saved")
own.save(saved)
layouts = []
for model, plan in ((own, "hf"), (bare, f"hf:{llama}"), (saved, "hf")):
    with tp.compile(model, plan=plan, mesh=2) as program:
        layouts.append(dict(program.layouts))
        kinds = [row.kind for row in program.collectives]
assert layouts[0] == layouts[1] == layouts[2], layouts
print(f"'hf', 'hf:FOLDER' and 'hf' of a model's folder: equal, {kinds.count('all_reduce')} all_reduce")

# From a shell.
with contextlib.redirect_stdout(io.StringIO()):
    for command in (["compile", saved, "--plan=hf", "--mesh=tp=2", "-o", f"{FOLDER}/hf.tp"],
                    ["report", saved, "--plan=hf", "--mesh=tp=2"]):
        assert tp.__main__.main(command) == 0, command
assert dict(tp.load(f"{FOLDER}/hf.tp").layouts) == layouts[0]

# Its plan for experts is for the axis `ep`.
mixture = transformers.MixtralConfig(
    vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
    num_key_value_heads=2, num_local_experts=4, use_cache=False)
torch.manual_seed(0)
experts = transformers.MixtralForCausalLM(mixture).eval()
mixture.architectures = ["MixtralForCausalLM"]
own_mixture = tp.export(experts, (tokens,))
expert_layouts = []
for plan, mesh in (("hf", {"ep": 2}), (f"hf:{folder('mixtral', mixture)}", {"ep": 2}),
                   ("hf", {"ep": 2, "tp": 2})):
    with tp.compile(own_mixture, plan=plan, mesh=mesh) as program:
        assert torch.allclose(torch.as_tensor(program(tokens)), experts(tokens).logits, atol=1e-5)
        expert_layouts.append(program.layouts["model.layers.0.mlp.experts.down_proj"])
print(expert_layouts)
for path in (wrong, bert):
    try:
        tp.compile(bare, plan=f"hf:{path}", mesh=2)
    except tp.CompileError as error:
        print(error)
