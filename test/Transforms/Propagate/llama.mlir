// A whole Llama in normal form. L layers under a Megatron plan make 2L + 1
// all_reduces, under a sequence-parallel plan 2L + 1 all_gathers and as many
// reduce_scatters, and nothing else; replicated logits one all_gather more.

// RUN: %python %S/Inputs/llama.py 2 megatron | tp-opt --tp-propagate --tp-verify-assignment --tp-materialize --tp-insert-collectives | FileCheck %s --check-prefix=MEGATRON
// RUN: %python %S/Inputs/llama.py 2 megatron --logits-replicated | tp-opt --tp-propagate --tp-verify-assignment --tp-materialize --tp-insert-collectives | FileCheck %s --check-prefixes=MEGATRON,GATHERED
// RUN: %python %S/Inputs/llama.py 2 sequence | tp-opt --tp-propagate --tp-verify-assignment --tp-materialize --tp-insert-collectives | FileCheck %s --check-prefix=SEQUENCE
// RUN: %python %S/Inputs/llama.py 2 megatron --ranks 2 | tp-opt --tp-propagate --tp-verify-assignment --tp-materialize --tp-insert-collectives | FileCheck %s --check-prefix=MEGATRON
// RUN: %python %S/Inputs/llama.py 2 megatron | tp-opt --tp-propagate=objective=time --tp-verify-assignment --tp-materialize --tp-insert-collectives | FileCheck %s --check-prefix=MEGATRON

// One rank: nothing is split, nothing is sent.
// RUN: %python %S/Inputs/llama.py 2 sequence --ranks 1 | tp-opt --tp-propagate --tp-verify-assignment --tp-materialize --tp-insert-collectives | FileCheck %s --check-prefix=ALONE

// MEGATRON-COUNT-5: tp.all_reduce sum
// MEGATRON-NOT: tp.all_reduce
// MEGATRON-NOT: tp.reduce_scatter
// MEGATRON-NOT: tp.all_to_all
// GATHERED-COUNT-1: tp.all_gather
// GATHERED-NOT: tp.all_gather

// SEQUENCE-NOT: tp.all_reduce
// SEQUENCE-NOT: tp.all_to_all
// SEQUENCE-COUNT-5: tp.reduce_scatter sum {{.*}} dim 1
// SEQUENCE: tp.all_gather {{.*}} dim 1
// SEQUENCE-NOT: tp.all_gather
// SEQUENCE-NOT: tp.reduce_scatter

// ALONE-NOT: split
// ALONE-NOT: tp.all_
// ALONE-NOT: tp.reduce_scatter
