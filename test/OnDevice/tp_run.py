#!/usr/bin/env python3
"""tp-run, TP_RUN_TOOL, for tests of the runtime on a device: ranks of a device's program are
processes with environments of their own, so that they can share one."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench")]
import artifact
import launch
from device import Device

tool, words = os.environ["TP_RUN_TOOL"], sys.argv[1:]
manifest = artifact.manifest(next(word for word in words if word.endswith(".tp")))
ranks = 1
for axis in manifest["mesh"]["axes"]:
    ranks *= axis["size"]
alone = ("--only-rank", "--info", "--store", "--trace")
if manifest["target"]["kind"] != "cuda" or any(word.startswith(alone) for word in words):
    ranks = 1
done = launch.run(Device(), ranks, [tool, *words], os.getcwd())
sys.stdout.write(done.out)
sys.stderr.write(done.err)
sys.exit(done.status)
