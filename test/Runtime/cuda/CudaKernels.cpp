//===- CudaKernels.cpp - device kernels that tests run on the host --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a section `cubin.host` holds: every function runs as one thread of a
// block, takes the addresses of its parameters and asks the device that runs it
// who it is.
//
//===----------------------------------------------------------------------===//

#include "AttendForm.h"
#include "tp/Runtime/Kernel.h"
#include <cmath>
#include <cstring>
#include <vector>

using tp::test::AttendForm;

extern "C" {
int32_t tp_block_read_ptx_sreg_tid_x();
int32_t tp_block_read_ptx_sreg_ntid_x();
int32_t tp_block_read_ptx_sreg_ctaid_x();
}

static int64_t element() {
  return int64_t(tp_block_read_ptx_sreg_ctaid_x()) *
             tp_block_read_ptx_sreg_ntid_x() +
         tp_block_read_ptx_sreg_tid_x();
}

template <typename T> static T *parameter(void *const *params, int i) {
  return *static_cast<T *const *>(params[i]);
}

static double read(int64_t type, const char *data, int64_t place) {
  if (type == AttendForm::F32)
    return reinterpret_cast<const float *>(data)[place];
  if (type == AttendForm::F16)
    return double(reinterpret_cast<const _Float16 *>(data)[place]);
  uint32_t bits = uint32_t(reinterpret_cast<const uint16_t *>(data)[place])
                  << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

static void write(int64_t type, char *data, int64_t place, double value) {
  auto narrow = float(value);
  if (type == AttendForm::F32) {
    reinterpret_cast<float *>(data)[place] = narrow;
  } else if (type == AttendForm::F16) {
    reinterpret_cast<_Float16 *>(data)[place] = _Float16(narrow);
  } else {
    uint32_t bits;
    std::memcpy(&bits, &narrow, 4);
    reinterpret_cast<uint16_t *>(data)[place] =
        uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}

static void attendRow(const AttendForm &form, const char *const *operands,
                      char *o, int64_t b, int64_t h, int64_t i) {
  int64_t g = h / (form.heads / form.kvHeads);
  auto at = [&](int operand, int64_t head, int64_t row, int64_t column) {
    const int64_t *s = form.strides[operand];
    return read(form.type, operands[operand],
                b * s[0] + head * s[1] + row * s[2] + column);
  };
  std::vector<double> scores(form.keys, -INFINITY);
  double most = -INFINITY, sum = 0;
  for (int64_t j = 0; j < form.keys; ++j) {
    if (j - i < form.lower || j - i > form.upper)
      continue;
    double product = 0;
    for (int64_t d = 0; d < form.headSize; ++d)
      product += at(0, h, i, d) * at(1, g, j, d);
    scores[j] = form.scale * product;
    const int64_t *s = form.biasStrides;
    if (form.biasType != AttendForm::None)
      scores[j] += read(form.biasType, operands[3],
                        b * s[0] + h * s[1] + i * s[2] + j * s[3]);
    most = std::fmax(most, scores[j]);
  }
  for (double &score : scores)
    sum += score = std::exp(score - most);
  for (int64_t e = 0; e < form.valueSize; ++e) {
    double value = 0;
    for (int64_t j = 0; j < form.keys; ++j)
      value += scores[j] ? scores[j] / sum * at(2, g, j, e) : 0;
    const int64_t *s = form.strides[3];
    write(form.type, o, b * s[0] + h * s[1] + i * s[2] + e, value);
  }
}

extern "C" {

/// to[i] = 2 * from[i] of 64 floats.
void scale(void *const *params) {
  int64_t i = element();
  if (i < 64)
    parameter<float>(params, 1)[i] = 2 * parameter<const float>(params, 0)[i];
}

/// Fails assert 7 where the argument's first element is above 0.
void check_small(void *const *params) {
  auto *context = parameter<const tp_kernel_context>(params, 1);
  if (element() == 0 && *parameter<const float>(params, 0) > 0 &&
      *context->status == 0)
    *context->status = 7;
}

/// result[0..2] = rank and coordinates; result[3] the scratch's alignment.
void where_am_i(void *const *params) {
  auto *result = parameter<int64_t>(params, 0);
  auto *context = parameter<const tp_kernel_context>(params, 1);
  if (element() != 0)
    return;
  result[0] = context->rank;
  result[1] = context->axis_coordinate[0];
  result[2] = context->axis_coordinate[1];
  result[3] = int64_t(uintptr_t(context->scratch) % 256);
}

/// to[i] = from[i] of 64 floats.
void look(void *const *params) {
  int64_t i = element();
  if (i < 64)
    parameter<float>(params, 1)[i] = parameter<const float>(params, 0)[i];
}

/// Attention by its definition, in double precision: q, k, v, bias, o, and the
/// numbers of `AttendForm`. One thread does it all.
void attend(void *const *params) {
  if (element() != 0)
    return;
  const auto &form = *parameter<const AttendForm>(params, 5);
  const char *operands[4];
  for (int i = 0; i < 4; ++i)
    operands[i] = parameter<const char>(params, i);
  char *o = parameter<char>(params, 4);
  for (int64_t b = 0; b < form.batch; ++b)
    for (int64_t h = 0; h < form.heads; ++h)
      for (int64_t i = 0; i < form.queries; ++i)
        attendRow(form, operands, o, b, h, i);
}

/// Writes far from its buffer.
void wander(void *const *params) {
  if (element() == 0)
    parameter<char>(params, 0)[int64_t(1) << 40] = 1;
}
}
