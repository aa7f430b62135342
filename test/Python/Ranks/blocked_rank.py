"""A rank that is a thread, and waits for something that never comes: ^C ends the step, and the
failure of another rank does.

    blocked_rank.py FOLDER INCLUDE
"""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import tp

FOLDER, INCLUDE = sys.argv[1:]
# The second call of a step waits, and tells so through the pipe that the op names.
OP = """
#include "tp/Runtime/CustomOp.h"
#include <stdatomic.h>
#include <unistd.h>
static atomic_int calls;
int32_t my_wait(const tp_op_call *call) {
  if (atomic_fetch_add(&calls, 1) % 2 == 0)
    return 0;
  char byte = 0;
  (void)!write((int)tp_find_attribute(call, "pipe")->integers[0], &byte, 1);
  for (;;)
    pause();
}
"""
MODEL = """
func.func @main(%x: tensor<4x8xf32> {{tp.name = "x"}}) -> (tensor<8xf32> {{tp.name = "y"}}) {{
  %h = "my.wait"(%x) {{pipe = {pipe} : i64}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8xf32>
  %first = linalg.fill ins(%zero : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %y = linalg.reduce ins(%h : tensor<4x8xf32>) outs(%first : tensor<8xf32>) dimensions = [0]
    (%a: f32, %b: f32) {{
      %c = arith.addf %a, %b : f32
      linalg.yield %c : f32
    }}
  return %y : tensor<8xf32>
}}
"""

library, model = os.path.join(FOLDER, "libmy_ops.so"), os.path.join(FOLDER, "model.mlir")
subprocess.run(["cc", "-shared", "-fPIC", f"-I{INCLUDE}", "-xc", "-", "-o", library],
               input=OP.encode(), check=True)
reader, writer = os.pipe()
with open(model, "w", encoding="utf-8") as file:
    file.write(MODEL.format(pipe=writer))
# A process that is started in the background ignores the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)


def compiled(timeout: float) -> tp.Program:
    return tp.compile(model, plan={"argument x": tp.Shard(0), "result y": tp.Replicate()}, mesh=2,
                      rules={"my.wait": "i j -> i j"}, link=library, timeout=timeout)


def interrupt() -> None:
    os.read(reader, 1)
    os.kill(os.getpid(), signal.SIGINT)


x = np.ones((4, 8), np.float32)
with compiled(100000) as program:
    threading.Thread(target=interrupt).start()
    try:
        program(x)
    except KeyboardInterrupt as error:
        print(f"interrupted: {error}")
    try:
        program(x)
    except tp.RunError as error:
        print(error)
# A time-out may expire before the op is called, where the machine is slow.
for seconds in (1, 15, 90):
    try:
        compiled(seconds)(x)
    except tp.RunError as error:
        if "tp_call_0" in str(error):
            print(f"failed with {error.code}: {error}")
            break
