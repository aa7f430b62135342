//===- ManifestCheckAttention.cpp - what an attention may be --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/ManifestCheck.h"
#include <algorithm>
#include <cmath>

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

namespace {
/// The extents of an operand of the backward pass.
struct OperandSizes {
  int64_t heads, rows, columns;
  DataType dtype;
};
} // namespace

static bool isWritten(const AttentionBackwardCommand &command,
                      const AttentionOperand &operand) {
  return &operand == &command.gq || &operand == &command.gk ||
         &operand == &command.gv;
}

static OperandSizes sizesOf(const AttentionBackwardCommand &command,
                            const AttentionOperand &operand) {
  auto isOf = [&](std::initializer_list<const AttentionOperand *> operands) {
    return std::find(operands.begin(), operands.end(), &operand) !=
           operands.end();
  };
  const auto &c = command;
  bool isSum = isOf({&c.lse, &c.delta});
  return {isOf({&c.k, &c.v}) ? c.kvHeads : c.heads,
          isOf({&c.k, &c.v, &c.gk, &c.gv}) ? c.keys : c.queries,
          &operand == &c.lse           ? 2
          : isSum                      ? 1
          : isOf({&c.v, &c.go, &c.gv}) ? c.valueSize
                                       : c.headSize,
          isSum                         ? c.sumType()
          : isWritten(command, operand) ? c.gradientType
                                        : c.dtype};
}

std::optional<int64_t>
tp::runtime::operandBytes(const AttentionBackwardCommand &command,
                          const AttentionOperand &operand) {
  OperandSizes sizes = sizesOf(command, operand);
  return bytesOf(span({{command.batch, operand.strides[0]},
                       {sizes.heads, operand.strides[1]},
                       {sizes.rows, operand.strides[2]},
                       {sizes.columns, 1}}),
                 sizes.dtype);
}

std::optional<int64_t> tp::runtime::biasBytes(const AttentionWeights &weights) {
  const AttentionBias &bias = *weights.bias;
  return bytesOf(
      span({{weights.batch, bias.strides[0]},
            {weights.heads, bias.strides[1]},
            {weights.queries, bias.strides[2]},
            {bias.dtype == DataType::I64 ? 2 : weights.keys, bias.strides[3]}}),
      bias.dtype);
}

/// Of what makes weights.
static std::string checkWeights(const AttentionWeights &command) {
  auto isType = [](DataType type) {
    return type == DataType::F64 || type == DataType::F32 ||
           type == DataType::F16 || type == DataType::BF16;
  };
  if (!std::isfinite(command.scale))
    return "scale is a finite number";
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
  return "";
}

/// Whether what is written of an operand is written once.
static std::string checkApart(const AttentionOperand &operand,
                              const AttentionWeights &command,
                              OperandSizes sizes, const std::string &name) {
  std::array<std::pair<int64_t, int64_t>, 3> rows = {
      {{operand.strides[0], command.batch},
       {operand.strides[1], sizes.heads},
       {operand.strides[2], sizes.rows}}};
  std::sort(rows.begin(), rows.end());
  int64_t covered = sizes.columns;
  for (auto [stride, size] : rows) {
    if (size == 1)
      continue;
    if (stride < covered)
      return "elements of operand " + name + " overlap: a stride of " +
             std::to_string(stride) + " over " + std::to_string(covered) +
             " elements";
    // Strides are below 2^49 and sizes below 2^31.
    if (__builtin_mul_overflow(size - 1, stride, &stride) ||
        __builtin_add_overflow(covered, stride, &covered))
      return "operand " + name + " is too large";
  }
  return "";
}

std::string
tp::runtime::checkAttention(const AttentionBackwardCommand &command) {
  if (std::string wrong = checkWeights(command); !wrong.empty())
    return wrong;
  if (command.gradientType != command.dtype &&
      command.gradientType != command.sumType())
    return std::string("gradients have the dtype ") + spelling(command.dtype) +
           " or " + spelling(command.sumType()) + ", got " +
           spelling(command.gradientType);
  if (command.onto && command.gradientType != command.sumType())
    return std::string("a sum to add to, expected gradients of ") +
           spelling(command.sumType()) + ", got " +
           spelling(command.gradientType);
  for (const auto &[name, member] : AttentionBackwardCommand::operands) {
    const AttentionOperand &operand = command.*member;
    if (isWritten(command, operand))
      if (std::string wrong =
              checkApart(operand, command, sizesOf(command, operand), name);
          !wrong.empty())
        return wrong;
  }
  return "";
}

std::string tp::runtime::checkAttention(const AttentionCommand &command) {
  if (std::string wrong = checkWeights(command); !wrong.empty())
    return wrong;
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
  return checkApart(command.o, command,
                    {command.heads, command.queries, command.outputColumns(),
                     command.outputType()},
                    "o");
}

/// q, k, v and the bias.
template <typename Command>
static std::vector<TypedRange> weightRanges(const Command &command) {
  std::vector<TypedRange> ranges;
  for (auto [name, operand] :
       {std::pair("q", &command.q), std::pair("k", &command.k),
        std::pair("v", &command.v)})
    ranges.push_back({operand->buffer, operandBytes(command, *operand),
                      command.dtype, std::string("operand ") + name});
  if (command.bias)
    ranges.push_back({command.bias->buffer, biasBytes(command),
                      command.bias->dtype, "the bias"});
  return ranges;
}

std::vector<TypedRange>
tp::runtime::attentionRanges(const AttentionCommand &command) {
  std::vector<TypedRange> ranges = weightRanges(command);
  std::optional<int64_t> bytes = operandBytes(command, command.o);
  ranges.push_back({command.o.buffer, bytes, command.outputType(), "operand o",
                    /*isWritten=*/true});
  if (command.onto && *command.onto != command.o.buffer)
    ranges.push_back({*command.onto, bytes, command.outputType(), "the state"});
  return ranges;
}

std::vector<TypedRange>
tp::runtime::attentionRanges(const AttentionBackwardCommand &command) {
  std::vector<TypedRange> ranges = weightRanges(command);
  for (const auto &[name, member] : AttentionBackwardCommand::operands) {
    const AttentionOperand &operand = command.*member;
    ranges.push_back({operand.buffer, operandBytes(command, operand),
                      sizesOf(command, operand).dtype,
                      std::string("operand ") + name,
                      isWritten(command, operand)});
  }
  if (command.onto && *command.onto != command.gq.buffer)
    ranges.push_back({*command.onto, operandBytes(command, command.gq),
                      command.sumType(), "the sum before"});
  return ranges;
}
