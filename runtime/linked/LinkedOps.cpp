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

std::string tp::runtime::functionOfOp(const std::string &op,
                                      tp_memory_space space) {
  std::string name = op;
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return name + (space == TP_DEVICE ? "_cuda" : "");
}

Status tp::runtime::findLinkedOp(const std::string &op, tp_memory_space space,
                                 tp_op &function) {
  Libraries &linked = libraries();
  std::lock_guard<std::mutex> lock(linked.mutex);
  std::string name = functionOfOp(op, space), paths;
  for (const Library &library : linked.all) {
    function = reinterpret_cast<tp_op>(dlsym(library.handle, name.c_str()));
    if (function)
      return {};
    paths += (paths.empty() ? "'" : ", '") + library.path + "'";
  }
  return unsupported(
      "op '" + op + "' has no implementation" +
      (space == TP_DEVICE ? " for devices" : "") +
      ": expected a linked library with a function " + name + ", " +
      (paths.empty() ? "none is linked" : "linked are " + paths));
}

Status tp::runtime::callLinkedOp(tp_op function, const LinkedCall &call) {
  tp_op_call given = {};
  given.struct_size = sizeof(given);
  given.op = call.op.c_str();
  given.num_inputs = int32_t(call.inputs.size());
  given.num_outputs = int32_t(call.outputs.size());
  given.num_attributes = int32_t(call.attributes.size());
  given.inputs = call.inputs.data();
  given.outputs = call.outputs.data();
  given.attributes = call.attributes.data();
  given.stream = call.stream;
  int32_t code = function(&given);
  if (code == 0)
    return {};
  return {Code::InvalidArgument,
          "the function " + functionOfOp(call.op, call.space) + " of op '" +
              call.op + "' returned " + std::to_string(code) + ", expected 0"};
}
