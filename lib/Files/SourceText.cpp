//===- SourceText.cpp - MLIR text from a file -----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Files/SourceText.h"
#include "llvm/Support/FileSystem.h"
#include <limits>
#include <pthread.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

using namespace tp;
using llvm::StringRef;

/// The offset at which `text` is nested too deep, or npos. Brackets in strings
/// and comments are none, nor are arrows and comparisons. Each operator of an
/// affine expression nests its right side.
static size_t findDeepNesting(StringRef text) {
  unsigned depth = 0, operators = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
    case '"':
      // A string that does not end in its line is the parser's to refuse.
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        if (text[i] == '\\')
          ++i;
      break;
    case '/':
      if (text.substr(i).starts_with("//"))
        i = std::min(text.find('\n', i), text.size());
      break;
    case '<':
    case '(':
    case '[':
    case '{':
      if (text.substr(i).starts_with("<="))
        break;
      if (++depth > maxSourceNesting)
        return i;
      operators = 0;
      break;
    case '>':
    case ')':
    case ']':
    case '}':
      if (text[i] == '>' &&
          ((i > 0 && text[i - 1] == '-') || text.substr(i).starts_with(">=")))
        break;
      depth -= depth > 0;
      operators = 0;
      break;
    case ',':
      operators = 0;
      break;
    case '+':
    case '-':
    case '*':
      if (!text.substr(i).starts_with("->") && ++operators > maxSourceOperators)
        return i;
      break;
    default:
      break;
    }
  }
  return StringRef::npos;
}

static void locate(StringRef text, size_t offset, SourceProblem &problem) {
  StringRef before = text.take_front(offset);
  problem.line = before.count('\n') + 1;
  problem.column = offset - (before.rfind('\n') + 1) + 1;
}

static bool checkText(StringRef text, SourceProblem &problem) {
  if (text.starts_with("ML\xefR")) {
    problem.message = "expected MLIR text, got bytecode";
    return false;
  }
  if (size_t zero = text.find('\0'); zero != StringRef::npos) {
    problem.message = "expected MLIR text, got a zero byte";
    locate(text, zero, problem);
    return false;
  }
  size_t deep = findDeepNesting(text);
  if (deep == StringRef::npos)
    return true;
  problem.message = "expected at most " + std::to_string(maxSourceNesting) +
                    " nested brackets and " +
                    std::to_string(maxSourceOperators) +
                    " operators in an expression, got more";
  locate(text, deep, problem);
  return false;
}

std::unique_ptr<llvm::MemoryBuffer> tp::readSourceText(StringRef path,
                                                       SourceProblem &problem) {
  auto fail = [&](const llvm::Twine &message) {
    problem.message = message.str();
    return nullptr;
  };
  bool standardInput = path == "-";
  if (!standardInput) {
    if (path.contains('\0'))
      return fail("a file name cannot hold a zero byte");
    llvm::sys::fs::file_status status;
    if (std::error_code error = llvm::sys::fs::status(path, status))
      return fail("cannot open: " + error.message());
    if (status.type() == llvm::sys::fs::file_type::directory_file)
      return fail("expected a file, got a directory");
    if (status.type() != llvm::sys::fs::file_type::regular_file)
      return fail("not a regular file");
  }
  // Read, not mapped: a mapped file that gets shorter ends the process.
  auto buffer =
      standardInput
          ? llvm::MemoryBuffer::getSTDIN()
          : llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                        /*RequiresNullTerminator=*/true,
                                        /*IsVolatile=*/true);
  if (!buffer)
    return fail("cannot read: " + buffer.getError().message());
  if (!checkText((*buffer)->getBuffer(), problem))
    return nullptr;
  return std::move(*buffer);
}

namespace {
struct Call {
  llvm::function_ref<int()> body;
  int result = 1;
};
} // namespace

/// What is freed is soon needed again: giving it back to the system page by
/// page, as glibc does for threads above all, takes a tenth of the time that
/// large programs take.
static void keepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 16 << 20);
#endif
}

int tp::runOnLargeStack(llvm::function_ref<int()> body) {
  keepFreedMemory();
  Call call{body};
  auto enter = [](void *argument) -> void * {
    auto *call = static_cast<Call *>(argument);
    call->result = call->body();
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread;
  bool started = pthread_attr_init(&attributes) == 0 &&
                 pthread_attr_setstacksize(&attributes, size_t(1) << 30) == 0 &&
                 pthread_create(&thread, &attributes, enter, &call) == 0;
  // Where memory is limited the stack there is has to do.
  if (!started)
    return body();
  pthread_join(thread, nullptr);
  return call.result;
}
