//===- Status.h - result of a runtime call ----------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime throws nothing of its own: whatever can fail returns a Status.
// Its codes are those of the C ABI (Runtime.h).
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_STATUS_H
#define TP_RUNTIME_STATUS_H

#include <string>
#include <utility>

namespace tp::runtime {

enum class Code : int {
  Ok = 0,
  /// The caller passed something that the artifact does not allow.
  InvalidArgument = 1,
  /// A file could not be opened, read, mapped or written.
  File = 2,
  /// A file was read, but its content is damaged or inconsistent.
  Format = 3,
  /// Well formed, but this build or this version cannot do it.
  Unsupported = 4,
  /// A collective was not joined by all ranks of its group in time.
  Timeout = 5,
  /// Another rank of the run failed or died.
  RankFailed = 6,
  /// A check inside the program failed (an index out of bounds, say).
  Assert = 7,
  /// The operating system refused memory, a thread or a process.
  System = 8,
  /// A device, or a library that drives it, refused a call or failed in one.
  Device = 9,
};

/// Success, or a code with a one-line message: lower case, no full stop,
/// expected and got.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Code code, std::string message)
      : errorCode(code), text(std::move(message)) {}

  bool ok() const { return errorCode == Code::Ok; }
  Code code() const { return errorCode; }
  const std::string &message() const { return text; }

  /// The same failure with "prefix: " before its message.
  Status within(const std::string &prefix) const {
    return ok() ? *this : Status(errorCode, prefix + ": " + text);
  }

private:
  Code errorCode = Code::Ok;
  std::string text;
};

inline Status invalidArgument(std::string message) {
  return {Code::InvalidArgument, std::move(message)};
}
inline Status fileError(std::string message) {
  return {Code::File, std::move(message)};
}
inline Status formatError(std::string message) {
  return {Code::Format, std::move(message)};
}
inline Status unsupported(std::string message) {
  return {Code::Unsupported, std::move(message)};
}
inline Status systemError(std::string message) {
  return {Code::System, std::move(message)};
}

} // namespace tp::runtime

#endif // TP_RUNTIME_STATUS_H
