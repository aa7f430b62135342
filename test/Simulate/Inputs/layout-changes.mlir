// Layout changes by themselves: uneven chunks, units, segments, parts of an
// axis, partial values of several kinds. Arguments that are partial differ on
// all ranks.

//--- uneven
#mesh = #tp.mesh<"tp" = 4>
#r = #tp.layout<#mesh, [replicate]>
#s0 = #tp.layout<#mesh, [shard<0>]>
#s1 = #tp.layout<#mesh, [shard<1>]>
#p = #tp.layout<#mesh, [partial<sum>]>
#m = #tp.layout<#mesh, [partial<max>]>
module attributes {tp.mesh = #mesh} {
  func.func @main(%p: tensor<5x6xf32, #p>, %m: tensor<5x6xf32, #m>, %r: tensor<5x6xf32, #r>) -> (tensor<5x6xf32, #r>, tensor<5x6xf32, #s1>, tensor<5x6xf32, #s0>, tensor<5x6xf32, #p>) {
    %0 = tp.redistribute %p {tp.values = [{id = 0}]} : tensor<5x6xf32, #p> to tensor<5x6xf32, #s0>
    %1 = tp.redistribute %0 {tp.values = [{id = 1}]} : tensor<5x6xf32, #s0> to tensor<5x6xf32, #r>
    %2 = tp.redistribute %m {tp.values = [{id = 2}]} : tensor<5x6xf32, #m> to tensor<5x6xf32, #s0>
    %3 = tp.redistribute %2 {tp.values = [{id = 3}]} : tensor<5x6xf32, #s0> to tensor<5x6xf32, #s1>
    %4 = tp.redistribute %r {tp.values = [{id = 4}]} : tensor<5x6xf32, #r> to tensor<5x6xf32, #s0>
    %5 = tp.redistribute %m {tp.values = [{id = 5}]} : tensor<5x6xf32, #m> to tensor<5x6xf32, #p>
    return %1, %3, %4, %5 : tensor<5x6xf32, #r>, tensor<5x6xf32, #s1>, tensor<5x6xf32, #s0>, tensor<5x6xf32, #p>
  }
}

//--- packed
#mesh = #tp.mesh<"tp" = 3>
#r = #tp.layout<#mesh, [replicate]>
#s0 = #tp.layout<#mesh, [shard<0, unit = 2, segments = [6, 3, 4]>]>
#s1 = #tp.layout<#mesh, [shard<1, unit = 3>]>
#p = #tp.layout<#mesh, [partial<sum>]>
module attributes {tp.mesh = #mesh} {
  func.func @main(%r: tensor<13x7xf32, #r>, %p: tensor<13x7xf32, #p>) -> (tensor<13x7xf32, #s0>, tensor<13x7xf32, #r>) {
    %0 = tp.redistribute %r {tp.values = [{id = 0}]} : tensor<13x7xf32, #r> to tensor<13x7xf32, #s0>
    %1 = tp.redistribute %0 {tp.values = [{id = 1}]} : tensor<13x7xf32, #s0> to tensor<13x7xf32, #s1>
    %2 = tp.redistribute %1 {tp.values = [{id = 2}]} : tensor<13x7xf32, #s1> to tensor<13x7xf32, #s0>
    %3 = tp.redistribute %p {tp.values = [{id = 3}]} : tensor<13x7xf32, #p> to tensor<13x7xf32, #s0>
    %4 = tp.redistribute %3 {tp.values = [{id = 4}]} : tensor<13x7xf32, #s0> to tensor<13x7xf32, #r>
    return %2, %4 : tensor<13x7xf32, #s0>, tensor<13x7xf32, #r>
  }
}

//--- parts
#mesh = #tp.mesh<"dp" = 2, "tp" = 4>
#rr = #tp.layout<#mesh, [replicate, replicate]>
#whole = #tp.layout<#mesh, [shard<0>, shard<1>]>
#parts = #tp.layout<#mesh, ["tp":2:2 = shard<0>, "dp" = shard<1>, "tp":1:2 = shard<0>]>
#mixed = #tp.layout<#mesh, ["dp" = partial<sum>, "tp":1:2 = shard<1>, "tp":2:2 = partial<max>]>
#swapped = #tp.layout<#mesh, ["tp" = shard<0>, "dp" = shard<0>]>
#nested = #tp.layout<#mesh, [shard<0>, shard<0>]>
module attributes {tp.mesh = #mesh} {
  func.func @main(%w: tensor<13x9xf32, #whole>, %m: tensor<13x9xf32, #mixed>) -> (tensor<13x9xf32, #rr>, tensor<13x9xf32, #parts>) {
    %0 = tp.redistribute %w {tp.values = [{id = 0}]} : tensor<13x9xf32, #whole> to tensor<13x9xf32, #parts>
    %1 = tp.redistribute %0 {tp.values = [{id = 1}]} : tensor<13x9xf32, #parts> to tensor<13x9xf32, #mixed>
    %2 = tp.redistribute %1 {tp.values = [{id = 2}]} : tensor<13x9xf32, #mixed> to tensor<13x9xf32, #nested>
    %3 = tp.redistribute %2 {tp.values = [{id = 3}]} : tensor<13x9xf32, #nested> to tensor<13x9xf32, #swapped>
    %4 = tp.redistribute %3 {tp.values = [{id = 4}]} : tensor<13x9xf32, #swapped> to tensor<13x9xf32, #rr>
    %5 = tp.redistribute %m {tp.values = [{id = 5}]} : tensor<13x9xf32, #mixed> to tensor<13x9xf32, #parts>
    return %4, %5 : tensor<13x9xf32, #rr>, tensor<13x9xf32, #parts>
  }
}
