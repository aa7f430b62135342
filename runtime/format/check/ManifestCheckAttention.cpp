//===- ManifestCheckAttention.cpp - what an attention may be --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/ManifestCheck.h"
#include <algorithm>

using namespace tp::runtime;

/// Elements from the first to the last of a tensor; nothing above 2^48.
static std::optional<int64_t>
span(std::initializer_list<std::pair<int64_t, int64_t>> dimensions) {
  int64_t last = 0;
  for (auto [size, stride] : dimensions) {
    int64_t step = 0;
    if (__builtin_mul_overflow(size - 1, stride, &step) ||
        __builtin_add_overflow(last, step, &last) || last >= int64_t(1) << 48)
      return std::nullopt;
  }
  return last + 1;
}

static std::optional<int64_t> bytesOf(std::optional<int64_t> elements,
                                      DataType dtype) {
  return elements ? std::optional(*elements * byteSize(dtype)) : std::nullopt;
}

std::optional<int64_t>
tp::runtime::operandBytes(const AttentionCommand &command,
                          const AttentionOperand &operand) {
  bool ofKeys = &operand == &command.k || &operand == &command.v;
  bool ofValues = &operand == &command.v, isOutput = &operand == &command.o;
  return bytesOf(
      span({{command.batch, operand.strides[0]},
            {ofKeys ? command.kvHeads : command.heads, operand.strides[1]},
            {ofKeys ? command.keys : command.queries, operand.strides[2]},
            {isOutput   ? command.outputColumns()
             : ofValues ? command.valueSize
                        : command.headSize,
             1}}),
      isOutput ? command.outputType() : command.dtype);
}

std::optional<int64_t> tp::runtime::biasBytes(const AttentionCommand &command) {
  const AttentionBias &bias = *command.bias;
  return bytesOf(
      span({{command.batch, bias.strides[0]},
            {command.heads, bias.strides[1]},
            {command.queries, bias.strides[2]},
            {bias.dtype == DataType::I64 ? 2 : command.keys, bias.strides[3]}}),
      bias.dtype);
}

std::string tp::runtime::checkAttention(const AttentionCommand &command) {
  auto isType = [](DataType type) {
    return type == DataType::F64 || type == DataType::F32 ||
           type == DataType::F16 || type == DataType::BF16;
  };
  if (!isType(command.dtype))
    return std::string("an attention's dtype is f64, f32, f16 or bf16, got ") +
           spelling(command.dtype);
  bool hasSpans = command.bias && command.bias->dtype == DataType::I64;
  if (command.bias && !hasSpans && !isType(command.bias->dtype))
    return std::string("a bias has the dtype f64, f32, f16 or bf16, or i64 for "
                       "spans of keys, got ") +
           spelling(command.bias->dtype);
  if (hasSpans && (command.lower || command.upper))
    return "expected spans of keys, or lower and upper";
  if (command.heads % command.kvHeads)
    return std::to_string(command.heads) + " heads cannot share " +
           std::to_string(command.kvHeads) + " heads of keys evenly";
  if (command.onto && !command.isPartial)
    return "a state to add to, expected partial";
  if (command.isPartial && command.emptyRows != EmptyRows::None)
    return "empty_rows of a partial attention, whose other keys may be seen";
  // The first and the last query have the fewest keys.
  int64_t most = command.keys - command.queries;
  bool someEmpty =
      (command.lower && command.upper && *command.lower > *command.upper) ||
      (command.upper && *command.upper < 0) ||
      (command.lower && *command.lower > most);
  if (someEmpty && !command.isPartial && command.emptyRows == EmptyRows::None)
    return "the mask leaves some query without keys, expected empty_rows to "
           "say what it gets";
  std::array<std::pair<int64_t, int64_t>, 3> rows = {
      {{command.o.strides[0], command.batch},
       {command.o.strides[1], command.heads},
       {command.o.strides[2], command.queries}}};
  std::sort(rows.begin(), rows.end());
  int64_t covered = command.outputColumns();
  for (auto [stride, size] : rows) {
    if (size == 1)
      continue;
    if (stride < covered)
      return "elements of operand o overlap: a stride of " +
             std::to_string(stride) + " over " + std::to_string(covered) +
             " elements";
    // Strides are below 2^49 and sizes below 2^31.
    if (__builtin_mul_overflow(size - 1, stride, &stride) ||
        __builtin_add_overflow(covered, stride, &covered))
      return "operand o is too large";
  }
  return "";
}
