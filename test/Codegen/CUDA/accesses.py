"""Runs some blocks of every kernel of per-rank modules on the host and prints how
the accesses of their warps coalesce: of the 32-byte sectors that a load or store of a
warp touches, how many its bytes need at least.

    accesses.py TP_OPT TP_RUN_KERNELS FOLDER MODULE.mlir... [--least=0.85] [--above=BYTES]

Fails if a kernel that moves more than --above bytes is below --least.
"""

import argparse
import json
import os
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser()
    for name in ("tp_opt", "tp_run_kernels", "folder"):
        parser.add_argument(name)
    parser.add_argument("module", nargs="+")
    parser.add_argument("--least", type=float, default=0.85)
    parser.add_argument("--above", type=int, default=1 << 20)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    bad = kernels = 0
    for number, module in enumerate(options.module):
        base = os.path.join(options.folder, str(number))
        launches = subprocess.run(
            [options.tp_opt, module, "--tp-cuda-compile=show=launches "
             f"host={base}.so accesses=true", "-o", os.devnull],
            check=True, stdout=subprocess.PIPE, timeout=600).stdout
        with open(base + ".launches", "wb") as file:
            file.write(launches)
        lines = subprocess.run(
            [options.tp_run_kernels, "--accesses", base + ".so", base + ".launches"],
            check=True, stdout=subprocess.PIPE, timeout=600).stdout
        print(f"{module}\n  {'kernel':<14}{'grid':>9}{'block':>7}{'bytes':>14}"
              f"{'loads':>8}{'a warp':>8}{'stores':>8}{'a warp':>8}")
        for line in map(json.loads, lines.splitlines()):
            text, worst = "", 1.0
            for kind in ("loads", "stores"):
                count = line[kind]
                share = count["least_sectors"] / max(count["sectors"], 1) \
                    if count["sectors"] else 1.0
                worst = min(worst, share)
                each = count["bytes"] / max(count["requests"], 1)
                text += f"{share:>8.2f}{each:>8.0f}"
            kernels += 1
            low = worst < options.least and line["bytes"] > options.above
            bad += low
            print(f"  {line['function']:<14}{line['grid']:>9}{line['block']:>7}"
                  f"{line['bytes']:>14,}{text}{'  low' if low else ''}")
    print(f"{kernels} kernels, {bad} whose accesses do not coalesce")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
