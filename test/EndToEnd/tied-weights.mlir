// A tied weight is found by each of its names in the weight files; two of them with
// different bytes are an error.
//
// RUN: split-file %s %t
// RUN: %python %t/weights.py %t
// RUN: tp-compile %t/model.mlir -o %t/model.tp
// RUN: tp-run %t/model.tp --input=x=@%t/x.npy --weights=%t/first.safetensors --expected-output=y=@%t/y.npy
// RUN: tp-run %t/model.tp --input=x=@%t/x.npy --weights=%t/second.safetensors --expected-output=y=@%t/y.npy
// RUN: tp-run %t/model.tp --input=x=@%t/x.npy --weights=%t/equal.safetensors --expected-output=y=@%t/y.npy
// RUN: not tp-run %t/model.tp --input=x=@%t/x.npy --weights=%t/unequal.safetensors 2>&1 | FileCheck %s
// CHECK: 'read' in {{.*}} and 'book' in {{.*}} are one tied weight, but their contents differ

//--- model.mlir
func.func @main(%x: tensor<2xf32> {tp.name = "x", tp.kind = "user_input"},
                %w: tensor<2xf32> {tp.name = "read", tp.kind = "parameter", tp.aliases = ["book"]})
    -> (tensor<2xf32> {tp.name = "y"}) {
  %e = tensor.empty() : tensor<2xf32>
  %y = linalg.add ins(%x, %w : tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

//--- weights.py
import json, struct, sys

def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)

def save(name, tensors):
    header, data = {}, b""
    for key, value in tensors.items():
        header[key] = {"dtype": "F32", "shape": [2], "data_offsets": [len(data), len(data) + 8]}
        data += value
    text = json.dumps(header).encode()
    with open(f"{sys.argv[1]}/{name}.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)

def save_npy(name, value):
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }".ljust(117) + "\n"
    with open(f"{sys.argv[1]}/{name}.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + value)

weight = floats(1, 2)
save("first", {"read": weight})
save("second", {"book": weight})
save("equal", {"read": weight, "book": weight})
save("unequal", {"read": weight, "book": floats(1, 3)})
save_npy("x", floats(10, 20))
save_npy("y", floats(11, 22))
