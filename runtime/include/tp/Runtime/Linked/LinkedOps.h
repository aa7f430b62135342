//===- LinkedOps.h - ops that linked libraries compute ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_LINKEDOPS_H
#define TP_RUNTIME_LINKEDOPS_H

#include "tp/Runtime/CustomOp.h"
#include "tp/Runtime/Status.h"
#include <string>
#include <vector>

namespace tp::runtime {

/// Loads a shared object for this process, with its constructors. The code of
/// artifacts that are opened later finds its functions. One that is linked
/// again stays as it is.
Status linkLibrary(const std::string &path);

/// The function for `op` on tensors in `space`, of the library that was linked
/// first among those that have one; an error names the function and what is
/// linked.
Status findLinkedOp(const std::string &op, tp_memory_space space,
                    tp_op &function);

/// The name of the function that computes `op` on tensors in `space`.
std::string functionOfOp(const std::string &op,
                         tp_memory_space space = TP_HOST);

/// What a function is called with.
struct LinkedCall {
  std::string op;
  std::vector<tp_tensor> inputs, outputs;
  std::vector<tp_attribute> attributes;
  tp_memory_space space = TP_HOST;
  /// Of tensors on a device.
  void *stream = nullptr;
};

/// Calls the function; a number other than 0 is an error.
Status callLinkedOp(tp_op function, const LinkedCall &call);

} // namespace tp::runtime

#endif // TP_RUNTIME_LINKEDOPS_H
