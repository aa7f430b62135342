//===- Products.cpp - matrix products by cuBLASLt -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/Products.h"
#include <algorithm>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

namespace {

int dataType(DataType type) {
  switch (type) {
  case DataType::F64:
    return CUDA_R_64F;
  case DataType::F16:
    return CUDA_R_16F;
  case DataType::BF16:
    return CUDA_R_16BF;
  default:
    return CUDA_R_32F;
  }
}

/// One strided batch and the offsets, in elements of a, b and c, at which it
/// is repeated.
struct Batches {
  int64_t count = 1;
  std::array<int64_t, 3> strides = {0, 0, 0};
  std::vector<std::array<int64_t, 3>> offsets = {{0, 0, 0}};
};

/// Dimensions whose strides go on where the next one's end become one; the
/// largest that is left is the library's batch.
Batches collapse(const GemmCommand &gemm) {
  struct Dimension {
    int64_t size;
    std::array<int64_t, 3> strides;
  };
  std::vector<Dimension> dimensions;
  for (size_t d = 0; d < gemm.batch.size(); ++d) {
    if (gemm.batch[d] == 1)
      continue;
    Dimension inner = {gemm.batch[d],
                       {gemm.a.batchStrides[d], gemm.b.batchStrides[d],
                        gemm.c.batchStrides[d]}};
    bool joins = !dimensions.empty();
    for (size_t i = 0; i < 3 && joins; ++i)
      joins = dimensions.back().strides[i] == inner.size * inner.strides[i];
    if (joins) {
      dimensions.back().size *= inner.size;
      dimensions.back().strides = inner.strides;
    } else {
      dimensions.push_back(inner);
    }
  }
  Batches batches;
  if (dimensions.empty())
    return batches;
  auto largest = std::max_element(
      dimensions.begin(), dimensions.end(),
      [](const Dimension &a, const Dimension &b) { return a.size < b.size; });
  batches.count = largest->size;
  batches.strides = largest->strides;
  dimensions.erase(largest);
  for (const Dimension &dimension : dimensions) {
    std::vector<std::array<int64_t, 3>> all;
    for (const auto &offset : batches.offsets)
      for (int64_t i = 0; i < dimension.size; ++i)
        all.push_back({offset[0] + i * dimension.strides[0],
                       offset[1] + i * dimension.strides[1],
                       offset[2] + i * dimension.strides[2]});
    batches.offsets = std::move(all);
  }
  return batches;
}

/// The power of two, up to 256, that divides all addresses of an operand.
int64_t alignment(CUdeviceptr address, int64_t elementBytes, int64_t stride,
                  const std::vector<std::array<int64_t, 3>> &offsets,
                  size_t operand) {
  uint64_t bits = 256 | uint64_t(address) | uint64_t(stride * elementBytes);
  for (const auto &offset : offsets)
    bits |= uint64_t(offset[operand] * elementBytes);
  return int64_t(bits & -bits);
}

} // namespace

Status Products::create(Device &device, CUdeviceptr workspace,
                        std::unique_ptr<Products> &products) {
  std::unique_ptr<Products> made(new Products(device, workspace));
  if (Status status = CublasLt::open(made->library); !status.ok())
    return status;
  if (Status status = made->library->cublasLtCreate(&made->handle);
      !status.ok())
    return status;
  products = std::move(made);
  return {};
}

Products::~Products() {
  if (device.failed() || !handle)
    return;
  for (const Plan &plan : plans) {
    if (plan.operation)
      (void)library->cublasLtMatmulDescDestroy(plan.operation);
    for (cublasLtMatrixLayout_t layout : {plan.first, plan.second, plan.result})
      if (layout)
        (void)library->cublasLtMatrixLayoutDestroy(layout);
  }
  (void)library->cublasLtDestroy(handle);
}

Status Products::layout(cublasLtMatrixLayout_t &made, DataType type,
                        int64_t rows, int64_t columns, int64_t ld,
                        int64_t count, int64_t stride) {
  Status status = library->cublasLtMatrixLayoutCreate(&made, dataType(type),
                                                      rows, columns, ld);
  if (!status.ok() || count == 1)
    return status;
  int32_t batch = int32_t(count);
  status = library->cublasLtMatrixLayoutSetAttribute(
      made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch));
  if (status.ok())
    status = library->cublasLtMatrixLayoutSetAttribute(
        made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
        sizeof(stride));
  return status;
}

Status Products::choose(Plan &plan, const std::array<int64_t, 3> &alignments) {
  cublasLtMatmulPreference_t preference = nullptr;
  if (Status status = library->cublasLtMatmulPreferenceCreate(&preference);
      !status.ok())
    return status;
  uint64_t most = workspaceBytes;
  Status status = library->cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
      sizeof(most));
  // The library's a is our b (see prepare); c and d are one matrix.
  const std::pair<int, size_t> attributes[] = {
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 1},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 0},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 2},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 2}};
  for (const auto &[attribute, operand] : attributes) {
    uint32_t bytes = uint32_t(alignments[operand]);
    if (status.ok())
      status = library->cublasLtMatmulPreferenceSetAttribute(
          preference, attribute, &bytes, sizeof(bytes));
  }
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  if (status.ok())
    status = library->cublasLtMatmulAlgoGetHeuristic(
        handle, plan.operation, plan.first, plan.second, plan.result,
        plan.result, preference, 1, &found, &count);
  (void)library->cublasLtMatmulPreferenceDestroy(preference);
  if (status.ok() && (count == 0 || found.state != CUBLAS_STATUS_SUCCESS))
    return unsupported("cuBLASLt has no algorithm for it");
  plan.algorithm = found.algo;
  return status;
}

Status Products::prepare(const GemmCommand &gemm, int64_t rank, CUdeviceptr a,
                         CUdeviceptr b, CUdeviceptr c, AlgorithmCache &cache,
                         size_t &number) {
  number = plans.size();
  Plan &plan = plans.emplace_back();
  plan.a = a;
  plan.b = b;
  plan.c = c;
  if (gemm.residual || gemm.bias || gemm.activation != Activation::None)
    return unsupported("a gemm with a residual, a bias or an activation");
  int64_t k = gemm.kOf(rank);
  bool empty = gemm.m == 0 || gemm.n == 0 ||
               std::count(gemm.batch.begin(), gemm.batch.end(), 0) != 0;
  if (empty || (k == 0 && gemm.beta == 1))
    return {};
  int64_t bytes = byteSize(gemm.dtype), cBytes = byteSize(gemm.cDtype);
  Batches batches = collapse(gemm);
  for (const auto &offset : batches.offsets)
    plan.offsets.push_back(
        {offset[0] * bytes, offset[1] * bytes, offset[2] * cBytes});
  if (k == 0) {
    if (gemm.beta != 0)
      return unsupported("a gemm with k = 0 and beta " +
                         std::to_string(gemm.beta) + ", expected 0 or 1");
    plan.zeroRows = gemm.m;
    plan.zeroRowBytes = gemm.n * cBytes;
    plan.zeroPitch = gemm.c.ld * cBytes;
    std::vector<std::array<int64_t, 3>> all;
    for (const auto &offset : plan.offsets)
      for (int64_t i = 0; i < batches.count; ++i)
        all.push_back({0, 0, offset[2] + i * batches.strides[2] * cBytes});
    plan.offsets = std::move(all);
    return {};
  }
  plan.isWide = gemm.dtype == DataType::F64;
  plan.wide[0] = gemm.alpha;
  plan.wide[1] = gemm.beta;
  plan.narrow[0] = float(gemm.alpha);
  plan.narrow[1] = float(gemm.beta);
  // The library's matrices are column-major: what it sees are the transposes,
  // and c^T = op(b)^T op(a)^T.
  int compute = plan.isWide ? CUBLAS_COMPUTE_64F
                : gemm.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                            : CUBLAS_COMPUTE_32F;
  Status status = library->cublasLtMatmulDescCreate(
      &plan.operation, compute, plan.isWide ? CUDA_R_64F : CUDA_R_32F);
  const std::pair<int, bool> transposes[] = {
      {CUBLASLT_MATMUL_DESC_TRANSA, gemm.b.transpose},
      {CUBLASLT_MATMUL_DESC_TRANSB, gemm.a.transpose}};
  for (const auto &[attribute, transposed] : transposes) {
    int32_t value = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    if (status.ok())
      status = library->cublasLtMatmulDescSetAttribute(
          plan.operation, attribute, &value, sizeof(value));
  }
  auto add = [&](cublasLtMatrixLayout_t &made, const GemmOperand &operand,
                 DataType type, int64_t rows, int64_t columns, size_t index) {
    if (operand.transpose)
      std::swap(rows, columns);
    if (status.ok())
      status = layout(made, type, columns, rows, operand.ld, batches.count,
                      batches.strides[index]);
  };
  add(plan.first, gemm.b, gemm.dtype, k, gemm.n, 1);
  add(plan.second, gemm.a, gemm.dtype, gemm.m, k, 0);
  add(plan.result, gemm.c, gemm.cDtype, gemm.m, gemm.n, 2);
  if (!status.ok())
    return status;

  std::array<int64_t, 3> alignments = {
      alignment(a, bytes, batches.strides[0], batches.offsets, 0),
      alignment(b, bytes, batches.strides[1], batches.offsets, 1),
      alignment(c, cBytes, batches.strides[2], batches.offsets, 2)};
  std::string key = std::string(gemm.tf32 ? "tf32" : spelling(gemm.dtype)) +
                    " " + spelling(gemm.cDtype);
  for (int64_t part :
       {gemm.m, gemm.n, k, int64_t(gemm.a.transpose), int64_t(gemm.b.transpose),
        gemm.a.ld, gemm.b.ld, gemm.c.ld, batches.count, batches.strides[0],
        batches.strides[1], batches.strides[2], alignments[0], alignments[1],
        alignments[2], int64_t(gemm.beta != 0), int64_t(library->version())})
    key += " " + std::to_string(part);
  key += " " + device.chip() + " " + device.name();
  cublasLtMatmulHeuristicResult_t checked = {};
  if (cache.find(key, plan.algorithm) &&
      library->cublasLtMatmulAlgoCheck.code(
          handle, plan.operation, plan.first, plan.second, plan.result,
          plan.result, &plan.algorithm, &checked) == CUBLAS_STATUS_SUCCESS &&
      checked.workspaceSize <= size_t(workspaceBytes))
    return {};
  status = choose(plan, alignments);
  if (status.ok())
    cache.add(key, plan.algorithm);
  return status;
}

Status Products::run(size_t number, CUstream stream) const {
  const Plan &plan = plans[number];
  const void *alpha =
      plan.isWide ? (const void *)&plan.wide[0] : (const void *)&plan.narrow[0];
  const void *beta =
      plan.isWide ? (const void *)&plan.wide[1] : (const void *)&plan.narrow[1];
  auto *work = reinterpret_cast<void *>(workspace);
  for (const std::array<int64_t, 3> &offset : plan.offsets) {
    Status status;
    if (plan.zeroRows) {
      status = device.driver().cuMemsetD2D8Async(
          plan.c + offset[2], plan.zeroPitch, 0, plan.zeroRowBytes,
          plan.zeroRows, stream);
    } else {
      auto *c = reinterpret_cast<void *>(plan.c + offset[2]);
      status = library->cublasLtMatmul(
          handle, plan.operation, alpha,
          reinterpret_cast<const void *>(plan.b + offset[1]), plan.first,
          reinterpret_cast<const void *>(plan.a + offset[0]), plan.second, beta,
          c, plan.result, c, plan.result, &plan.algorithm, work, workspaceBytes,
          stream);
    }
    if (!status.ok())
      return status;
  }
  return {};
}
