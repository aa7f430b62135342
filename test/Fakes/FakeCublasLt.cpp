//===- FakeCublasLt.cpp - a libcublasLt that computes on the host ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Checks what it is given as the library's documentation asks, and computes in
// double precision. An algorithm is a hash of the problem that it was chosen
// for: another one's is refused.
//
#include "FakeDevice.h"
#include "FakeElements.h"
#include "tp/Runtime/Cuda/CublasLtApi.h"
#include "tp/Runtime/DataType.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>

using namespace tp::fake;
using namespace tp::runtime;

namespace tp::runtime::cuda {
struct cublasLtContext {
  int magic = 1;
};
struct cublasLtMatmulDescOpaque_t {
  int compute, scale;
  int32_t transposes[2] = {CUBLAS_OP_N, CUBLAS_OP_N};
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void *bias = nullptr;
};
struct cublasLtMatrixLayoutOpaque_t {
  int type;
  uint64_t rows, columns;
  int64_t ld;
  int32_t count = 1;
  int64_t stride = 0;
};
struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t workspace = 0;
  uint32_t alignments[4] = {256, 256, 256, 256};
};
} // namespace tp::runtime::cuda

namespace {

std::optional<DataType> typeOf(int type) {
  switch (type) {
  case CUDA_R_64F:
    return DataType::F64;
  case CUDA_R_32F:
    return DataType::F32;
  case CUDA_R_16F:
    return DataType::F16;
  case CUDA_R_16BF:
    return DataType::BF16;
  }
  return std::nullopt;
}

constexpr uint32_t epilogues[] = {
    CUBLASLT_EPILOGUE_DEFAULT,   CUBLASLT_EPILOGUE_RELU,
    CUBLASLT_EPILOGUE_BIAS,      CUBLASLT_EPILOGUE_GELU,
    CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS};

bool hasBias(const cublasLtMatmulDescOpaque_t &operation) {
  return operation.epilogue != CUBLASLT_EPILOGUE_DEFAULT &&
         (operation.epilogue & CUBLASLT_EPILOGUE_BIAS);
}

double activated(uint32_t epilogue, double value) {
  if (epilogue == CUBLASLT_EPILOGUE_RELU ||
      epilogue == CUBLASLT_EPILOGUE_RELU_BIAS)
    return value > 0 ? value : 0;
  if (epilogue != CUBLASLT_EPILOGUE_GELU &&
      epilogue != CUBLASLT_EPILOGUE_GELU_BIAS)
    return value;
  constexpr double root = 0.7978845608028654; // sqrt(2 / pi)
  return value / 2 *
         (1 + std::tanh(root * (value + 0.044715 * value * value * value)));
}

struct Problem {
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t a, b, c, d;

  uint64_t m() const { return d->rows; }
  uint64_t n() const { return d->columns; }
  uint64_t k() const {
    return operation->transposes[0] == CUBLAS_OP_T ? a->rows : a->columns;
  }
  /// Empty, or what the library would refuse.
  std::string mistake() const {
    auto sizes = [](cublasLtMatrixLayout_t matrix, int32_t transpose) {
      return transpose == CUBLAS_OP_T
                 ? std::pair(matrix->columns, matrix->rows)
                 : std::pair(matrix->rows, matrix->columns);
    };
    if (sizes(a, operation->transposes[0]) != std::pair(m(), k()) ||
        sizes(b, operation->transposes[1]) != std::pair(k(), n()) ||
        sizes(c, CUBLAS_OP_N) != std::pair(m(), n()))
      return "the sizes do not fit";
    for (cublasLtMatrixLayout_t matrix : {a, b, c, d}) {
      if (matrix->ld < int64_t(matrix->rows) || !matrix->rows ||
          !matrix->columns)
        return "a leading dimension is less than the rows";
      if (matrix->count != d->count)
        return "batches differ";
    }
    bool wide = operation->compute == CUBLAS_COMPUTE_64F;
    if (wide != (operation->scale == CUDA_R_64F) || a->type != b->type ||
        c->type != d->type || wide != (a->type == CUDA_R_64F) ||
        (c->type != a->type && c->type != CUDA_R_32F))
      return "the types do not go together";
    if (bool(operation->bias) != hasBias(*operation))
      return "a bias and an epilogue without it, or the other way around";
    if (operation->epilogue != CUBLASLT_EPILOGUE_DEFAULT && wide)
      return "an epilogue of f64";
    if (operation->compute == CUBLAS_COMPUTE_32F_FAST_TF32 &&
        a->type != CUDA_R_32F)
      return "tf32 of other operands than f32";
    return "";
  }
  uint64_t hash() const {
    uint64_t value = 0xcbf29ce484222325u;
    for (uint64_t part :
         {m(), n(), k(), uint64_t(a->ld), uint64_t(b->ld), uint64_t(c->ld),
          uint64_t(d->count), uint64_t(a->type), uint64_t(c->type),
          uint64_t(operation->compute), uint64_t(operation->transposes[0]),
          uint64_t(operation->transposes[1]), uint64_t(operation->epilogue)})
      value = (value ^ part) * 0x100000001b3u;
    return value;
  }
};

uint64_t extent(cublasLtMatrixLayout_t m) {
  return (uint64_t(m->count - 1) * m->stride + (m->columns - 1) * m->ld +
          m->rows) *
         byteSize(*typeOf(m->type));
}

void compute(const cublasLtMatmulDescOpaque_t &operation,
             const cublasLtMatrixLayoutOpaque_t &a,
             const cublasLtMatrixLayoutOpaque_t &b,
             const cublasLtMatrixLayoutOpaque_t &c,
             const cublasLtMatrixLayoutOpaque_t &d, double alpha, double beta,
             const void *aData, const void *bData, const void *cData,
             void *dData) {
  bool ta = operation.transposes[0] == CUBLAS_OP_T;
  bool tb = operation.transposes[1] == CUBLAS_OP_T;
  int64_t k = ta ? a.rows : a.columns;
  DataType type = *typeOf(a.type), dType = *typeOf(d.type);
  for (int64_t batch = 0; batch < d.count; ++batch)
    for (int64_t j = 0; j < int64_t(d.columns); ++j)
      for (int64_t i = 0; i < int64_t(d.rows); ++i) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          int64_t x = batch * a.stride + (ta ? l + i * a.ld : i + l * a.ld);
          int64_t y = batch * b.stride + (tb ? j + l * b.ld : l + j * b.ld);
          sum +=
              elementAsDouble(type, aData, x) * elementAsDouble(type, bData, y);
        }
        int64_t place = batch * d.stride + i + j * d.ld;
        int64_t from = batch * c.stride + i + j * c.ld;
        double before = beta ? elementAsDouble(dType, cData, from) : 0;
        double bias =
            hasBias(operation) ? elementAsDouble(dType, operation.bias, i) : 0;
        storeFloat(dType, static_cast<char *>(dData) + place * byteSize(dType),
                   activated(operation.epilogue,
                             (alpha ? alpha * sum : 0) + beta * before + bias));
      }
}

/// TP_FAKE_ALGORITHMS=5,0,3: three algorithms, which take so many milliseconds;
/// without it one that takes none.
std::vector<int> algorithmTimes() {
  const char *wish = std::getenv("TP_FAKE_ALGORITHMS");
  std::vector<int> times;
  for (std::istringstream words(wish ? wish : "0"); !words.eof();) {
    std::string word;
    std::getline(words, word, ',');
    times.push_back(std::atoi(word.c_str()));
  }
  return times;
}

} // namespace

extern "C" {

TP_FAKE size_t cublasLtGetVersion() { return 130100; }
TP_FAKE const char *cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    NAME_OF(CUBLAS_STATUS_NOT_INITIALIZED)
    NAME_OF(CUBLAS_STATUS_INVALID_VALUE)
    NAME_OF(CUBLAS_STATUS_EXECUTION_FAILED)
    NAME_OF(CUBLAS_STATUS_NOT_SUPPORTED)
  }
  return "CUBLAS_STATUS_OTHER";
}
TP_FAKE cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  ENTER_LIBRARY("cublasLtCreate")
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
TP_FAKE cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
TP_FAKE cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *made,
                                                int compute, int scale) {
  ENTER_LIBRARY("cublasLtMatmulDescCreate")
  *made = new cublasLtMatmulDescOpaque_t{compute, scale};
  return CUBLAS_STATUS_SUCCESS;
}
TP_FAKE cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}
TP_FAKE cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                                      int attribute,
                                                      const void *value,
                                                      size_t size) {
  ENTER_LIBRARY("cublasLtMatmulDescSetAttribute")
  int which = attribute - CUBLASLT_MATMUL_DESC_TRANSA;
  if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE && size == 4) {
    uint32_t epilogue = 0;
    std::memcpy(&epilogue, value, size);
    if (std::find(std::begin(epilogues), std::end(epilogues), epilogue) ==
        std::end(epilogues))
      return CUBLAS_STATUS_INVALID_VALUE;
    desc->epilogue = epilogue;
  } else if (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER && size == 8) {
    std::memcpy(&desc->bias, value, size);
  } else if (which >= 0 && which <= 1 && size == sizeof(int32_t)) {
    std::memcpy(&desc->transposes[which], value, size);
  } else {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}
TP_FAKE cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *made,
                                                  int type, uint64_t rows,
                                                  uint64_t columns,
                                                  int64_t ld) {
  ENTER_LIBRARY("cublasLtMatrixLayoutCreate")
  if (!typeOf(type))
    return CUBLAS_STATUS_INVALID_VALUE;
  *made = new cublasLtMatrixLayoutOpaque_t{type, rows, columns, ld};
  return CUBLAS_STATUS_SUCCESS;
}
TP_FAKE cublasStatus_t
cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}
TP_FAKE cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, int attribute,
                                 const void *value, size_t size) {
  ENTER_LIBRARY("cublasLtMatrixLayoutSetAttribute")
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && size == 4)
    std::memcpy(&layout->count, value, size);
  else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET &&
           size == 8)
    std::memcpy(&layout->stride, value, size);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}
TP_FAKE cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *made) {
  *made = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}
TP_FAKE cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}
TP_FAKE cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference, int attribute, const void *value,
    size_t size) {
  ENTER_LIBRARY("cublasLtMatmulPreferenceSetAttribute")
  int which = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && size == 8)
    std::memcpy(&preference->workspace, value, size);
  else if (which >= 0 && which < 4 && size == 4)
    std::memcpy(&preference->alignments[which], value, size);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}
TP_FAKE cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int wanted,
    cublasLtMatmulHeuristicResult_t *found, int *count) {
  ENTER_LIBRARY("cublasLtMatmulAlgoGetHeuristic")
  Problem problem{operation, a, b, c, d};
  *count = 0;
  if (std::string mistake = problem.mistake(); !mistake.empty()) {
    complain("cublasLtMatmulAlgoGetHeuristic: " + mistake);
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (wanted < 1)
    return CUBLAS_STATUS_INVALID_VALUE;
  std::vector<int> times = algorithmTimes();
  *count = std::min(wanted, int(times.size()));
  for (int a = 0; a < *count; ++a) {
    found[a] = {};
    uint64_t *data = found[a].algo.data;
    data[0] = problem.hash();
    for (int i = 0; i < 4; ++i)
      data[1] |= uint64_t(preference->alignments[i]) << (16 * i);
    data[2] = uint64_t(times[a]);
    data[3] = uint64_t(a);
  }
  return CUBLAS_STATUS_SUCCESS;
}
TP_FAKE cublasStatus_t cublasLtMatmulAlgoCheck(
    cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algorithm,
    cublasLtMatmulHeuristicResult_t *result) {
  ENTER_LIBRARY("cublasLtMatmulAlgoCheck")
  Problem problem{operation, a, b, c, d};
  if (!problem.mistake().empty() || algorithm->data[0] != problem.hash())
    return CUBLAS_STATUS_NOT_SUPPORTED;
  *result = {};
  return CUBLAS_STATUS_SUCCESS;
}
TP_FAKE cublasStatus_t
cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
               const void *alpha, const void *aData, cublasLtMatrixLayout_t a,
               const void *bData, cublasLtMatrixLayout_t b, const void *beta,
               const void *cData, cublasLtMatrixLayout_t c, void *dData,
               cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algorithm,
               void *workspace, size_t workspaceBytes, CUstream stream) {
  ENTER_LIBRARY("cublasLtMatmul")
  auto scalar = [&](const void *value) {
    return operation->scale == CUDA_R_64F
               ? *static_cast<const double *>(value)
               : double(*static_cast<const float *>(value));
  };
  Problem problem{operation, a, b, c, d};
  std::string mistake = problem.mistake();
  if (mistake.empty() && algorithm->data[0] != problem.hash())
    mistake = "the algorithm is another problem's";
  const void *const operands[] = {aData, bData, cData, dData};
  for (int i = 0; i < 4; ++i)
    if (mistake.empty() &&
        CUdeviceptr(operands[i]) % (algorithm->data[1] >> (16 * i) & 0xffff))
      mistake = "an operand is not aligned as the heuristic was told";
  if (mistake.empty() &&
      (!isMemory(CUdeviceptr(aData), extent(a)) ||
       !isMemory(CUdeviceptr(bData), extent(b)) ||
       !isMemory(CUdeviceptr(dData), extent(d)) ||
       (workspaceBytes && !isMemory(CUdeviceptr(workspace), workspaceBytes))))
    mistake = "it leaves its memory";
  size_t element = byteSize(*typeOf(d->type));
  if (mistake.empty() && operation->bias &&
      (!isMemory(CUdeviceptr(operation->bias), d->rows * element) ||
       CUdeviceptr(operation->bias) % element))
    mistake = "the bias leaves its memory or is not aligned";
  // c is d, or lies apart from it; where beta is 0 it is not read.
  auto begin = CUdeviceptr(cData), result = CUdeviceptr(dData);
  bool isSame = cData == dData;
  if (mistake.empty() && scalar(beta) != 0 &&
      (!isMemory(begin, extent(c)) ||
       (isSame ? c->ld != d->ld || c->stride != d->stride
               : begin < result + extent(d) && result < begin + extent(c))))
    mistake = "c leaves its memory, or overlaps d";
  if (!mistake.empty()) {
    complain("cublasLtMatmul: " + mistake);
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::string what = "cublasLtMatmul with algorithm " +
                     std::to_string(algorithm->data[3]) + " of problem " +
                     std::to_string(algorithm->data[0]);
  queueNow(stream, what, fault,
           [=, operation = *operation, a = *a, b = *b, c = *c, d = *d,
            alpha = scalar(alpha), beta = scalar(beta),
            milliseconds = double(algorithm->data[2])] {
             take(milliseconds);
             compute(operation, a, b, c, d, alpha, beta, aData, bData, cData,
                     dData);
           });
  return CUBLAS_STATUS_SUCCESS;
}

} // extern "C"
