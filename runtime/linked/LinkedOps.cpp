//===- LinkedOps.cpp - ops that linked libraries compute ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Linked/LinkedOps.h"
#include <algorithm>
#include <cctype>
#include <dlfcn.h>
#include <mutex>

using namespace tp::runtime;

namespace {
struct Library {
  std::string path;
  void *handle;
};

/// The libraries of this process, in the order in which they were linked. They
/// stay loaded: the code of artifacts calls their functions.
struct Libraries {
  std::mutex mutex;
  std::vector<Library> all;
};

Libraries &libraries() {
  static auto *linked = new Libraries;
  return *linked;
}
} // namespace

Status tp::runtime::linkLibrary(const std::string &path) {
  Libraries &linked = libraries();
  std::lock_guard<std::mutex> lock(linked.mutex);
  // A name without a folder would be searched for where the system's libraries
  // are.
  std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle) {
    const char *reason = dlerror();
    return fileError("cannot link '" + path +
                     "': " + (reason ? reason : "unknown reason"));
  }
  bool known = std::any_of(
      linked.all.begin(), linked.all.end(),
      [&](const Library &library) { return library.handle == handle; });
  if (!known)
    linked.all.push_back({path, handle});
  return {};
}

std::string tp::runtime::functionOfOp(const std::string &op) {
  std::string name = op;
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return name;
}

Status tp::runtime::findLinkedOp(const std::string &op, tp_op &function) {
  Libraries &linked = libraries();
  std::lock_guard<std::mutex> lock(linked.mutex);
  std::string name = functionOfOp(op), paths;
  for (const Library &library : linked.all) {
    function = reinterpret_cast<tp_op>(dlsym(library.handle, name.c_str()));
    if (function)
      return {};
    paths += (paths.empty() ? "'" : ", '") + library.path + "'";
  }
  return unsupported(
      "op '" + op +
      "' has no implementation: expected a linked "
      "library with a function " +
      name + ", " + (paths.empty() ? "none is linked" : "linked are " + paths));
}

Status tp::runtime::callLinkedOp(tp_op function, const std::string &op,
                                 const std::vector<tp_tensor> &inputs,
                                 const std::vector<tp_tensor> &outputs,
                                 const std::vector<tp_attribute> &attributes) {
  tp_op_call call = {};
  call.struct_size = sizeof(call);
  call.op = op.c_str();
  call.num_inputs = int32_t(inputs.size());
  call.num_outputs = int32_t(outputs.size());
  call.num_attributes = int32_t(attributes.size());
  call.inputs = inputs.data();
  call.outputs = outputs.data();
  call.attributes = attributes.data();
  int32_t code = function(&call);
  if (code == 0)
    return {};
  return {Code::InvalidArgument, "the function " + functionOfOp(op) +
                                     " of op '" + op + "' returned " +
                                     std::to_string(code) + ", expected 0"};
}
