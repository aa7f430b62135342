// What is given to tp-run without a file, and what it prints where no file is asked for.
//
// RUN: split-file %s %t
// RUN: tp-compile %t/model.mlir --plan=%t/plan.mlir -o %t/m.tp
// DEFINE: %{run} = tp-run %t/m.tp

// Literals, in order or by name; results in a line each.
// RUN: %{run} --input=x=2x4xf32=0.5 '--input=ids=4xi64=[0 1, 2 -3]' | FileCheck %s --match-full-lines
// RUN: %{run} --input=2x4xf32=5e-1 '--input=4xi64=[[0 1] [2 -3]]' --transport=processes | FileCheck %s --match-full-lines
// CHECK: y: f32[2, 4], min 1, max 1, mean 1: [1, 1, 1, 1, 1, 1, 1, 1]
// CHECK: twice: i64[4], min -6, max 4, mean 0: [0, 2, 4, -6]
// CHECK-NOT: {{.}}

// A file is asked for: one line that it ran.
// RUN: %{run} --input=2x4xf32=inf --input=4xi64=1 --output=y=@%t/y.npy | FileCheck %s --check-prefix=RAN --match-full-lines
// RAN: ran 1 step on 2 ranks
// RAN-NOT: {{.}}
// RUN: %{run} --input=2x4xf32=inf --input=4xi64=1 --quiet | count 0
// RUN: %{run} --input=2x4xf32=inf --input=4xi64=1 --expected-output=y=@%t/y.npy | FileCheck %s --check-prefix=SAME --match-full-lines
// SAME: y: equal, {{.*}}
// SAME-NOT: {{.}}
// RUN: %{run} --random-data=1 --repeat=3 | FileCheck %s --check-prefix=RANDOM --match-full-lines
// RANDOM: ran 3 steps on 2 ranks
// RUN: %{run} --input=2x4xf32=nan --input=4xi64=1 | FileCheck %s --check-prefix=NAN
// NAN: y: f32[2, 4], 8 NaN: [nan

// One file per step, in the order of the numbers in their names.
// RUN: %python %t/files.py %t
// RUN: %{run} --input=2x4xf32=1 '--input=ids=@%t/ids-*.npy' --output=twice=@%t/twice.npy | FileCheck %s --check-prefix=STEPS
// RUN: %{run} --input=2x4xf32=1 '--input=ids=@%t/ids-*.npy' --transport=processes | FileCheck %s --check-prefix=LAST
// STEPS: ran 3 steps on 2 ranks
// LAST: twice: i64[4], min 20, max 20

// Readers that have seen enough: no error.
// RUN: bash -o pipefail -c '%{run} --info | head -n 1' 2>&1 | FileCheck %s --check-prefix=HEAD
// RUN: bash -o pipefail -c '%{run} --info >&-; %{run} --input=2x4xf32=1 --input=4xi64=1 | true' 2>&1 | FileCheck %s --check-prefix=CLOSED
// HEAD-NOT: error
// CLOSED-COUNT-1: error: cannot write to the standard output
// CLOSED-NOT: error

// RUN: %{run} --info --json | %python -c "import json, sys; m = json.load(sys.stdin); assert m['version'] == 2 and m['entries'][0]['name'] == 'main'"

// A complex array is a pair of reals at the end, also one in the order of Fortran.
// RUN: tp-compile %t/complex.mlir -o %t/c.tp
// RUN: tp-run %t/c.tp --input=z=@%t/z.npy --output=re=@%t/re.npy --output=im=@%t/im.npy
// RUN: %python %t/parts.py %t
// RUN: tp-run %t/c.tp --input=z=@%t/zf.npy --expected-output=re=@%t/re.npy --expected-output=im=@%t/im.npy

// A dead argument may be given, and need not be.
// RUN: tp-run %t/c.tp --input=z=@%t/z.npy --input=dead=3xf32=1 --expected-output=re=@%t/re.npy

// Keys of weight files that have a prefix, or lack one; tensors without a use are told once.
// RUN: tp-compile %t/weights.mlir -o %t/w.tp
// RUN: tp-run %t/w.tp --weights=%t/with.safetensors --weights-prefix=model. 2>&1 | FileCheck %s --check-prefix=WITH --match-full-lines
// RUN: tp-run %t/w.tp --weights=%t/without.safetensors --weights-prefix=-layers. 2>&1 | FileCheck %s --check-prefix=WITHOUT
// RUN: tp-run %t/w.tp --weights=%t/with.safetensors --weights-prefix=model. --quiet 2>&1 | count 0
// WITH-DAG: tp-run: note: the program has no use for 2 tensors of the weight files: 'model.old', 'other'
// WITH-DAG: y: f32[2], min 2, max 4, mean 3: [2, 4]
// WITHOUT-NOT: note:
// WITHOUT: y: f32[2], min 2, max 4, mean 3: [2, 4]

// A folder stands for its index, else for the file of the name that models have in folders.
// RUN: tp-run %t/w.tp --weights=%t/sharded | FileCheck %s --check-prefix=WITHOUT
// RUN: tp-run %t/w.tp --weights=%t/whole/ --transport=processes | FileCheck %s --check-prefix=WITHOUT
// RUN: tp-run %t/w.tp --weights=%t/saved | FileCheck %s --check-prefix=WITHOUT

//--- plan.mlir
tp.plan @plan on <"tp" = 2>["tp"] {
  tp.argument "x" shard<0>
}

//--- model.mlir
func.func @main(%x: tensor<2x4xf32> {tp.name = "x"}, %ids: tensor<4xi64> {tp.name = "ids"}) -> (tensor<2x4xf32> {tp.name = "y"}, tensor<4xi64> {tp.name = "twice"}) {
  %y = arith.addf %x, %x : tensor<2x4xf32>
  %twice = arith.addi %ids, %ids : tensor<4xi64>
  return %y, %twice : tensor<2x4xf32>, tensor<4xi64>
}

//--- complex.mlir
func.func @main(%z: tensor<2x3xcomplex<f32>> {tp.name = "z"}, %d: tensor<3xf32> {tp.name = "dead"}) -> (tensor<2x3xf32> {tp.name = "re"}, tensor<2x3xf32> {tp.name = "im"}) {
  %e = tensor.empty() : tensor<2x3xf32>
  %re = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%z : tensor<2x3xcomplex<f32>>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: complex<f32>, %o: f32):
    %r = complex.re %a : complex<f32>
    linalg.yield %r : f32
  } -> tensor<2x3xf32>
  %im = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%z : tensor<2x3xcomplex<f32>>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: complex<f32>, %o: f32):
    %r = complex.im %a : complex<f32>
    linalg.yield %r : f32
  } -> tensor<2x3xf32>
  return %re, %im : tensor<2x3xf32>, tensor<2x3xf32>
}

//--- weights.mlir
func.func @main(%w: tensor<2xf32> {tp.name = "layers.w", tp.kind = "parameter"}) -> (tensor<2xf32> {tp.name = "y"}) {
  %y = arith.addf %w, %w : tensor<2xf32>
  return %y : tensor<2xf32>
}

//--- files.py
import json, pathlib, struct, sys
folder = pathlib.Path(sys.argv[1])
def npy(name, descr, shape, data, order=False):
    header = repr({"descr": descr, "fortran_order": order, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    (folder / name).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)
for number in (2, 9, 10):
    npy(f"ids-{number}.npy", "<i8", (4,), struct.pack("<4q", *[number] * 4))
pairs = [(i, 10 * i) for i in range(6)]
npy("z.npy", "<c8", (2, 3), b"".join(struct.pack("<2f", *pair) for pair in pairs))
turned = [pairs[3 * i + j] for j in range(3) for i in range(2)]
npy("zf.npy", "<c8", (2, 3), b"".join(struct.pack("<2f", *pair) for pair in turned), order=True)
def weights(name, keys, first=1):
    (folder / name).parent.mkdir(exist_ok=True)
    header = {key: {"dtype": "F32", "shape": [2], "data_offsets": [8 * i, 8 * i + 8]} for i, key in enumerate(keys)}
    text = json.dumps(header).encode()
    data = struct.pack("<2f", first, 2) * len(keys)
    (folder / name).write_bytes(struct.pack("<Q", len(text)) + text + data)
weights("with.safetensors", ["model.layers.w", "model.old", "other"])
weights("without.safetensors", ["w"])
weights("sharded/model-1.safetensors", ["layers.w"])
index = {"weight_map": {"layers.w": "model-1.safetensors"}}
(folder / "sharded/model.safetensors.index.json").write_text(json.dumps(index))
weights("sharded/model.safetensors", ["layers.w"], first=7)
weights("whole/model.safetensors", ["layers.w"])
weights("whole/weights.safetensors", ["layers.w"], first=7)
weights("saved/weights.safetensors", ["layers.w"])

//--- parts.py
import pathlib, struct, sys
folder = pathlib.Path(sys.argv[1])
for name, factor in (("re", 1), ("im", 10)):
    got = struct.unpack("<6f", (folder / f"{name}.npy").read_bytes()[-24:])
    assert got == tuple(factor * i for i in range(6)), got
