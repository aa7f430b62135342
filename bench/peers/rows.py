"""The rows of bench/communication, and how it asks a peer for them: as JSON on stdin, of
each the model, whether its weights are packed, program, plan, axes and sizes; a line of
JSON per row as the answer.
"""

import json
import os
import sys
import traceback

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from models import MODELS
from models.sizes import Sizes


# Model, whether weights are packed, sizes that are the row's own.
ROWS = {"llama": ("llama", False, {}), "llama packed": ("llama", True, {}),
        "llama grouped": ("llama", False, {"kv_heads": 2}),
        "gpt2": ("gpt2", False, {}), "bert": ("bert", False, {}),
        "moe": ("moe", False, {}),
        # As transformers' Phi-3, gpt-oss and Falcon take projections apart.
        "phi-3": ("sliced", True, {}), "gpt-oss": ("interleaved", True, {}),
        "falcon": ("groups", True, {"heads": 16, "kv_heads": 8}),
        "gathered head": ("gathered head", False, {})}


def answer(measure, version):
    """measure: model, program, plan, axes to collectives by kind, the tensors that those
    carry by kind, and bytes that a rank sends for them on a ring."""
    for row in json.load(sys.stdin):
        model = MODELS[row["model"]](Sizes(**row["sizes"]), "f32", row["packed"])
        try:
            counts, tensors, size = measure(model, row["program"], row["plan"],
                                            row["axes"])
            found = {"counts": counts, "tensors": tensors, "bytes": size,
                     "version": version}
        except Exception as error:  # Whatever a peer cannot do is its row's answer.
            traceback.print_exc()
            found = {"error": (str(error).splitlines() or [type(error).__name__])[0]}
        print(json.dumps(found), flush=True)
