//===- CublasLtGemms.cpp - the GEMMs of one rank's program ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/CublasLtGemms.h"
#include "GemmBatches.h"
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

/// cublasLtEpilogue_t of a GEMM's epilogue.
uint32_t epilogueOf(const GemmCommand &gemm) {
  uint32_t epilogue = gemm.bias ? CUBLASLT_EPILOGUE_BIAS : 0;
  if (gemm.activation == Activation::Relu)
    epilogue |= CUBLASLT_EPILOGUE_RELU;
  if (gemm.activation == Activation::GeluTanh)
    epilogue |= CUBLASLT_EPILOGUE_GELU;
  return epilogue ? epilogue : CUBLASLT_EPILOGUE_DEFAULT;
}

} // namespace

Status CublasLtGemms::create(Device &device, CUdeviceptr workspace,
                             GemmTiming timing,
                             std::unique_ptr<CublasLtGemms> &gemms) {
  std::unique_ptr<CublasLtGemms> made(
      new CublasLtGemms(device, workspace, std::move(timing)));
  int version = 0;
  if (Status status = device.driver().cuDriverGetVersion(&version);
      !status.ok())
    return status;
  if (Status status = CublasLt::open(made->library, version); !status.ok())
    return status;
  if (Status status = made->library->cublasLtCreate(&made->handle);
      !status.ok())
    return status;
  gemms = std::move(made);
  return {};
}

CublasLtGemms::~CublasLtGemms() {
  if (device.failed() || !handle)
    return;
  for (const Plan &plan : plans) {
    if (plan.operation)
      (void)library->cublasLtMatmulDescDestroy(plan.operation);
    for (cublasLtMatrixLayout_t layout :
         {plan.first, plan.second, plan.third, plan.result})
      if (layout)
        (void)library->cublasLtMatrixLayoutDestroy(layout);
  }
  (void)library->cublasLtDestroy(handle);
}

Status CublasLtGemms::layout(cublasLtMatrixLayout_t &made, DataType type,
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

/// Without products to add, what follows the sum is left: a product of one
/// column and one row of zeros, which lie in the workspace. Empty sums alone
/// need no library.
Status CublasLtGemms::prepareEmptySum(GemmCommand gemm, const Coordinates &rank,
                                      GemmAddresses addresses,
                                      AlgorithmCache &cache, Plan &plan) {
  bool inPlace = !gemm.residual || isResult(gemm, addresses);
  bool follows = gemm.bias || gemm.activation != Activation::None;
  int64_t cBytes = byteSize(gemm.cDtype);
  GemmBatches batches(gemm);
  if (gemm.beta == 1 && inPlace && !follows)
    return {};
  if (gemm.beta == 0 && !follows) {
    plan.zeroRows = gemm.m;
    plan.zeroRowBytes = gemm.n * cBytes;
    plan.zeroPitch = gemm.c.ld * cBytes;
    for (const auto &offset : batches.offsets)
      for (int64_t i = 0; i < batches.count; ++i)
        plan.offsets.push_back(
            {0, 0, (offset[2] + i * batches.strides[2]) * cBytes, 0});
    return {};
  }
  plan.clearedBytes = std::max(gemm.m, gemm.n) * byteSize(gemm.dtype);
  if (plan.clearedBytes > workspaceBytes)
    return unsupported("a gemm with k = 0 whose rows or columns have " +
                       std::to_string(plan.clearedBytes) +
                       " bytes, expected at most " +
                       std::to_string(workspaceBytes));
  plan.workspaceBytes = 0;
  addresses.a = addresses.b = workspace;
  gemm.k = 1;
  gemm.shortened.reset();
  gemm.alpha = 0;
  gemm.a.transpose = gemm.b.transpose = false;
  gemm.a.ld = 1;
  gemm.b.ld = gemm.n;
  for (GemmOperand *operand : {&gemm.a, &gemm.b})
    std::fill(operand->batchStrides.begin(), operand->batchStrides.end(), 0);
  return prepareSum(gemm, rank, addresses, cache, plan);
}

bool CublasLtGemms::isResult(const GemmCommand &gemm,
                             const GemmAddresses &addresses) {
  return addresses.residual == addresses.c && gemm.residual->ld == gemm.c.ld &&
         gemm.residual->batchStrides == gemm.c.batchStrides;
}

Status CublasLtGemms::prepare(const GemmCommand &gemm, const Coordinates &rank,
                              const GemmAddresses &addresses,
                              AlgorithmCache &cache, size_t &number) {
  number = plans.size();
  Plan &plan = plans.emplace_back();
  if (gemm.m == 0 || gemm.n == 0 ||
      std::count(gemm.batch.begin(), gemm.batch.end(), 0) != 0)
    return {};
  plan.addresses = addresses;
  return gemm.kOf(rank) == 0
             ? prepareEmptySum(gemm, rank, addresses, cache, plan)
             : prepareSum(gemm, rank, addresses, cache, plan);
}

Status CublasLtGemms::prepareSum(const GemmCommand &gemm,
                                 const Coordinates &rank,
                                 const GemmAddresses &addresses,
                                 AlgorithmCache &cache, Plan &plan) {
  plan.addresses = addresses;
  const GemmOperand &residual = gemm.residual ? *gemm.residual : gemm.c;
  if (!gemm.residual)
    plan.addresses.residual = addresses.c;
  bool inPlace = !gemm.residual || isResult(gemm, addresses);
  int64_t k = gemm.kOf(rank);
  int64_t bytes = byteSize(gemm.dtype), cBytes = byteSize(gemm.cDtype);
  GemmBatches batches(gemm);
  for (const auto &offset : batches.offsets)
    plan.offsets.push_back({offset[0] * bytes, offset[1] * bytes,
                            offset[2] * cBytes, offset[3] * cBytes});
  plan.isWide = gemm.dtype == DataType::F64;
  plan.wide[0] = gemm.alpha;
  plan.wide[1] = gemm.beta;
  plan.narrow[0] = float(gemm.alpha);
  plan.narrow[1] = float(gemm.beta);
  // The library's matrices are column-major: what it sees are the transposes,
  // and c^T = op(b)^T op(a)^T. Its bias, one element for each row of its
  // result, is one for each column of ours.
  int compute = plan.isWide ? CUBLAS_COMPUTE_64F
                : gemm.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                            : CUBLAS_COMPUTE_32F;
  Status status = library->cublasLtMatmulDescCreate(
      &plan.operation, compute, plan.isWide ? CUDA_R_64F : CUDA_R_32F);
  auto set = [&](int attribute, auto value) {
    if (status.ok())
      status = library->cublasLtMatmulDescSetAttribute(
          plan.operation, attribute, &value, sizeof(value));
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA,
      int32_t(gemm.b.transpose ? CUBLAS_OP_T : CUBLAS_OP_N));
  set(CUBLASLT_MATMUL_DESC_TRANSB,
      int32_t(gemm.a.transpose ? CUBLAS_OP_T : CUBLAS_OP_N));
  uint32_t epilogue = epilogueOf(gemm);
  if (epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (gemm.bias)
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER,
        reinterpret_cast<const void *>(addresses.bias));
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
  if (!inPlace)
    add(plan.third, residual, gemm.cDtype, gemm.m, gemm.n, 3);
  if (!status.ok())
    return status;

  std::array<int64_t, 4> alignments = {
      batches.alignment(addresses.a, bytes, 0),
      batches.alignment(addresses.b, bytes, 1),
      batches.alignment(addresses.c, cBytes, 2),
      batches.alignment(plan.addresses.residual, cBytes, 3)};
  std::string key = std::string(gemm.tf32 ? "tf32" : spelling(gemm.dtype)) +
                    " " + spelling(gemm.cDtype);
  auto append = [&](auto... parts) {
    ((key += " " + std::to_string(parts)), ...);
  };
  append(gemm.m, gemm.n, k, int(gemm.a.transpose), int(gemm.b.transpose),
         gemm.a.ld, gemm.b.ld, gemm.c.ld, batches.count, batches.strides[0],
         batches.strides[1], batches.strides[2], alignments[0], alignments[1],
         alignments[2], int(gemm.beta != 0), epilogue);
  // The library tells the bias's alignment from its address.
  constexpr CUdeviceptr largest = 256;
  if (gemm.bias)
    append((largest | addresses.bias) & -(largest | addresses.bias));
  if (!inPlace)
    append(residual.ld, batches.strides[3], alignments[3]);
  key += " " + std::to_string(library->version()) + " " + device.chip() + " " +
         device.name();
  // What was chosen without timing is not what is wanted with it.
  key += chooseByTiming() ? " timed" : " first";
  return useKept(plan, key, cache) ? Status()
                                   : choose(plan, alignments, key, cache);
}

Status CublasLtGemms::run(const Plan &plan, CUstream stream) const {
  const void *alpha =
      plan.isWide ? (const void *)&plan.wide[0] : (const void *)&plan.narrow[0];
  const void *beta =
      plan.isWide ? (const void *)&plan.wide[1] : (const void *)&plan.narrow[1];
  auto *work = reinterpret_cast<void *>(workspace);
  auto at = [](CUdeviceptr address, int64_t offset) {
    return reinterpret_cast<void *>(address + offset);
  };
  Status status;
  if (plan.clearedBytes)
    status = device.driver().cuMemsetD8Async(workspace, 0, plan.clearedBytes,
                                             stream);
  for (const std::array<int64_t, 4> &offset : plan.offsets) {
    const GemmAddresses &all = plan.addresses;
    if (!status.ok())
      break;
    if (plan.zeroRows)
      status = device.driver().cuMemsetD2D8Async(
          all.c + offset[2], plan.zeroPitch, 0, plan.zeroRowBytes,
          plan.zeroRows, stream);
    else
      status = library->cublasLtMatmul(
          handle, plan.operation, alpha, at(all.b, offset[1]), plan.first,
          at(all.a, offset[0]), plan.second, beta, at(all.residual, offset[3]),
          plan.added(), at(all.c, offset[2]), plan.result, &plan.algorithm,
          work, plan.workspaceBytes, stream);
  }
  return status;
}
