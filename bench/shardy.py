"""CPU time that Shardy's propagation takes for the Llama of bench/models/llama.py: a
training step written in JAX, lowered from shapes alone, layers unrolled as they are there.

    PYTHON bench/shardy.py --layers=2 --mesh=tp=8 --plan=sequence-parallel [sizes]

PYTHON has jax and jaxlib (docs/benchmarks.md). Prints JSON: `lower` and `propagation` in
CPU seconds, of all threads; `ops` of the module; `peak_bytes` of the process.
"""

import argparse
import json
import os
import resource
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import jax_models
import plans
from models import llama, sizes as model_sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mesh", default="tp=8")
    parser.add_argument("--plan", default="tensor-parallel",
                        choices=["tensor-parallel", "sequence-parallel"])
    parser.add_argument("--write", help="write the module as lowered and as propagated to "
                        "this folder")
    model_sizes.add_arguments(parser)
    options = parser.parse_args()
    axes = plans.axes_of(options.mesh)
    # Shapes are all that is lowered; the devices are only counted.
    os.environ.update(jax_models.devices_of_host(axes))
    import jax
    from jaxlib.mlir import ir, passmanager

    jax.config.update("jax_use_shardy_partitioner", True)
    begin = time.process_time()
    model = llama.Llama(model_sizes.of_arguments(options), "bf16")
    module = jax_models.lowered(jax, model, "training", options.plan,
                                axes).compiler_ir("stablehlo")
    lowering = time.process_time() - begin

    def write(name):
        if options.write:
            os.makedirs(options.write, exist_ok=True)
            with open(os.path.join(options.write, name), "w") as file:
                module.operation.print(file=file, assume_verified=True)

    calls, ops = 0, 0

    def count(op):
        nonlocal calls, ops
        ops += 1
        calls += op.name == "func.call"
        return ir.WalkResult.ADVANCE

    module.operation.walk(count)
    if calls:
        raise SystemExit(f"error: expected one function, got {calls} calls; Shardy sees "
                         "into no calls")
    write("lowered.mlir")
    with module.context:
        manager = passmanager.PassManager.parse("builtin.module(sdy-propagation-pipeline)")
        begin = time.process_time()
        manager.run(module.operation)
        propagation = time.process_time() - begin
    write("propagated.mlir")
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"jax": jax.__version__, "layers": options.layers,
                      "lower": lowering, "propagation": propagation, "ops": ops,
                      "peak_bytes": used.ru_maxrss * 1024}))


if __name__ == "__main__":
    main()
