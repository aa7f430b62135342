// RUN: %python %S/../EndToEnd/Inputs/write_npy.py %t.x.npy=8,16 %t.y.npy=8,16 %t.w.npy=16,16
// RUN: tp-compile %s -o %t.tp
// RUN: tp-run %t.tp --ranks=1 --input=x=@%t.x.npy --input=y=@%t.y.npy --input=w=@%t.w.npy --output=v=@%t.v.npy --output=s=@%t.s.npy
// RUN: %python -c "import math,struct,sys; x,y,w,v,s=[(lambda d: struct.unpack('<%%df' %% (len(d)//4),d))(open(f,'rb').read()[128:]) for f in sys.argv[1:]]; u=list(map(abs,x)); t=list(map(math.tanh,y)); n=[sum(u[i*16+k]*w[k*16+j] for k in range(16)) for i in range(8) for j in range(16)]; assert all(abs(a-b-c)<1e-3 for a,b,c in zip(s,n,t)) and any(n); assert all(abs(v[i]-u[i]-t[16*(int(u[i])&7)+i%%16])<1e-4 for i in range(128))" %t.x.npy %t.y.npy %t.w.npy %t.v.npy %t.s.npy

// The product waits for %u, which is computed in one loop with %v, which waits
// for %t. So %s, which reads both the product and %t, cannot be computed in one
// loop with %t, though the product stands before %t: the two loops waited for
// each other and none was run, without an error.

func.func @main(%x: tensor<8x16xf32> {tp.name = "x", tp.kind = "user_input"}, %y: tensor<8x16xf32> {tp.name = "y", tp.kind = "user_input"}, %w: tensor<16x16xf32> {tp.name = "w", tp.kind = "user_input"}) -> (tensor<8x16xf32> {tp.name = "v"}, tensor<8x16xf32> {tp.name = "s"}) {
  %zero = arith.constant 0.0 : f32
  %f = tensor.empty() : tensor<8x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %u = math.absf %x : tensor<8x16xf32>
  %n = linalg.matmul ins(%u, %w : tensor<8x16xf32>, tensor<16x16xf32>) outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
  %t = math.tanh %y : tensor<8x16xf32>
  %v = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%u : tensor<8x16xf32>) outs(%f : tensor<8x16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %c7 = arith.constant 7 : i32
    %j = linalg.index 1 : index
    %whole = arith.fptosi %a : f32 to i32
    %row = arith.andi %whole, %c7 : i32
    %r = arith.index_cast %row : i32 to index
    %b = tensor.extract %t[%r, %j] : tensor<8x16xf32>
    %sum = arith.addf %a, %b : f32
    linalg.yield %sum : f32
  } -> tensor<8x16xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%n, %t : tensor<8x16xf32>, tensor<8x16xf32>) outs(%f : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %sum = arith.addf %a, %b : f32
    linalg.yield %sum : f32
  } -> tensor<8x16xf32>
  return %v, %s : tensor<8x16xf32>, tensor<8x16xf32>
}
