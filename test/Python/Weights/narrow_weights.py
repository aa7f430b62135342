"""Weights of a narrower float than the program's: every number is taken as it is."""
from __future__ import annotations

import subprocess

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn

import tp

torch.manual_seed(0)
module = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 4)).eval()
x = torch.randn(3, 8)
with torch.no_grad():
    module[1].weight.normal_()
    module[0].weight[0, :4] = torch.tensor([6e-8, -0.0, 60000.0, -2.0**-24])  # subnormal in f16
wide = tp.export(module, (x,))
tp.compile(wide).save("wide.tp")
tp.compile(wide, weight_storage="bf16").save("stored.tp")
tp.compile(tp.export(nn.Sequential(*module).double(), (x.double(),))).save("double.tp")
module.float()

for name, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16)):
    narrow = {key: value.to(dtype) for key, value in module.state_dict().items()}
    same = {key: value.float() for key, value in narrow.items()}
    save_file(narrow, f"{name}.safetensors")
    sources = [narrow, f"{name}.safetensors", [narrow, f"{name}.safetensors"], [same, narrow]]
    if dtype == torch.float16:
        sources.append({key: value.numpy() for key, value in narrow.items()})
    for path in ("wide.tp", "stored.tp", "double.tp"):
        given = x.double() if path == "double.tp" else x
        with tp.load(path, same if path != "double.tp" else
                     {key: value.double() for key, value in same.items()}) as program:
            expected = program(given)
        for source in sources:
            with tp.load(path, source) as program:
                np.testing.assert_array_equal(program(given).numpy(), expected.numpy())
        np.save("x.npy", given.numpy())
        subprocess.run(["tp-run", path, "--input=@x.npy", f"--weights={name}.safetensors",
                        "--output=@y.npy"], check=True, stdout=subprocess.DEVNULL)
        np.testing.assert_array_equal(np.load("y.npy"), expected.numpy())
        print(f"{name} for {path}: {len(sources)} sources, and tp-run", flush=True)

other = {**narrow, "0.bias": narrow["0.bias"] + 1}
for weights in ([narrow, {key: value.float() for key, value in other.items()}],
                {key: value.double() for key, value in narrow.items()},
                {key: value.to(torch.float8_e5m2) for key, value in narrow.items()}):
    try:
        tp.load("wide.tp", weights)
    except tp.RunError as error:
        print(error, flush=True)
save_file({key: value.double() for key, value in narrow.items()}, "double.safetensors")
subprocess.run(["tp-run", "wide.tp", "--input=3x8xf32=0.5", "--weights=double.safetensors"],
               check=False)
