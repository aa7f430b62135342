//===- run-kernels.cpp - a program's GPU kernels on the host --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   tp-run-kernels KERNELS.so LAUNCHES ARGUMENT.npy... -- RESULT=BYTES...
//
// KERNELS.so and LAUNCHES are what tp-cuda-compile writes as `host` and prints
// as `launches`, of a program of kernels alone without constants. Results are
// written as plain elements. Prints the status that a failed check left.
//
//===----------------------------------------------------------------------===//

#include "BlockRunner.h"
#include "tp/Runtime/Kernel.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <dlfcn.h>

using namespace llvm;

namespace {
/// Memory that begins at multiples of 256 bytes and is full of NaN.
struct Block {
  explicit Block(int64_t bytes)
      : bytes(bytes), data(static_cast<char *>(
                          std::aligned_alloc(256, alignTo(bytes + 1, 256)))) {
    std::memset(data, 0xff, alignTo(bytes + 1, 256));
  }
  int64_t bytes;
  char *data;
};
} // namespace

[[noreturn]] static void fail(const Twine &message) {
  errs() << "tp-run-kernels: error: " << message << "\n";
  std::exit(1);
}

static std::string readFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    fail("cannot read " + path);
  return (*buffer)->getBuffer().str();
}

int main(int argc, char **argv) {
  if (argc < 3)
    fail("expected KERNELS.so LAUNCHES ARGUMENT.npy... -- RESULT=BYTES...");
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library)
    fail(dlerror());
  std::vector<json::Value> launches;
  int64_t arenaBytes = 0, scratchBytes = 0;
  SmallVector<StringRef> lines;
  std::string text = readFile(argv[2]);
  StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    auto value = json::parse(line);
    if (!value)
      fail("LAUNCHES: " + toString(value.takeError()));
    launches.push_back(*value);
    const json::Object &launch = *value->getAsObject();
    scratchBytes = std::max(scratchBytes, *launch.getInteger("scratch_bytes"));
    for (const json::Value &buffer : *launch.getArray("buffers"))
      if (*buffer.getAsObject()->getString("space") == "arena")
        arenaBytes = std::max(arenaBytes,
                              *buffer.getAsObject()->getInteger("offset") +
                                  *buffer.getAsObject()->getInteger("bytes"));
  }
  std::vector<Block> arguments, results;
  std::vector<StringRef> outputs;
  int i = 3;
  for (; i < argc && StringRef(argv[i]) != "--"; ++i) {
    std::string file = readFile(argv[i]);
    uint16_t header;
    std::memcpy(&header, file.data() + 8, sizeof(header));
    arguments.emplace_back(file.size() - 10 - header);
    std::memcpy(arguments.back().data, file.data() + 10 + header,
                arguments.back().bytes);
  }
  for (++i; i < argc; ++i) {
    auto [path, size] = StringRef(argv[i]).rsplit('=');
    int64_t bytes;
    if (size.getAsInteger(10, bytes))
      fail("expected RESULT=BYTES");
    outputs.push_back(path);
    results.emplace_back(bytes);
  }
  Block arena(arenaBytes), scratch(scratchBytes);
  int32_t status = 0;
  tp_kernel_context context = {};
  context.status = &status;
  context.scratch = scratch.data;
  for (const json::Value &value : launches) {
    const json::Object &launch = *value.getAsObject();
    std::string name = launch.getString("function")->str();
    auto kernel =
        reinterpret_cast<tp::fakes::HostKernel>(dlsym(library, name.c_str()));
    if (!kernel)
      fail(dlerror());
    std::vector<void *> pointers;
    for (const json::Value &entry : *launch.getArray("buffers")) {
      const json::Object &buffer = *entry.getAsObject();
      StringRef space = *buffer.getString("space");
      int64_t offset = *buffer.getInteger("offset");
      std::vector<Block> *blocks = space == "argument" ? &arguments
                                   : space == "result" ? &results
                                                       : nullptr;
      if (!blocks && space != "arena")
        fail("a buffer in " + space);
      size_t index = blocks ? *buffer.getInteger("index") : 0;
      if (blocks && (index >= blocks->size() ||
                     (*blocks)[index].bytes < *buffer.getInteger("bytes")))
        fail(space + " " + Twine(index) + " is missing or too small");
      pointers.push_back((blocks ? (*blocks)[index].data : arena.data) +
                         offset);
    }
    pointers.push_back(&context);
    std::vector<void *> params;
    for (void *&pointer : pointers)
      params.push_back(&pointer);
    auto triple = [&](StringRef key) {
      const json::Array &sizes = *launch.getArray(key);
      return std::array<int64_t, 3>{*sizes[0].getAsInteger(),
                                    *sizes[1].getAsInteger(),
                                    *sizes[2].getAsInteger()};
    };
    std::string error = tp::fakes::runKernel(
        kernel, params.data(), triple("grid"), triple("block"),
        *launch.getInteger("shared_bytes"));
    if (!error.empty())
      fail(name + ", " + error);
  }
  for (auto [path, block] : zip_equal(outputs, results)) {
    std::error_code error;
    raw_fd_ostream file(path, error);
    if (error)
      fail("cannot write " + path);
    file.write(block.data, block.bytes);
  }
  outs() << "status " << status << "\n";
  return 0;
}
