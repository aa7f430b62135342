//===- Gemm.cpp - matrix products by a library ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gemm.h"
#include "MixedGemm.h"
#include "NarrowGemm.h"
#include "SomeTerms.h"
#include "VectorLoops.h"
#include <array>
#include <cstring>
#include <dlfcn.h>
#include <optional>

#if TP_HAVE_OPENBLAS
#include <cblas.h>
#endif
#if TP_HAVE_DNNL
#include <oneapi/dnnl/dnnl.h>
#endif

using namespace tp::runtime;

namespace {

#if TP_HAVE_OPENBLAS
CBLAS_TRANSPOSE flag(bool transpose) {
  return transpose ? CblasTrans : CblasNoTrans;
}

void callGemv(CBLAS_TRANSPOSE transpose, int64_t rows, int64_t columns,
              float alpha, const float *matrix, int64_t ld, const float *x,
              int64_t stepX, float *y, int64_t stepY) {
  cblas_sgemv(CblasRowMajor, transpose, rows, columns, alpha, matrix, ld, x,
              stepX, 1.0f, y, stepY);
}
void callGemv(CBLAS_TRANSPOSE transpose, int64_t rows, int64_t columns,
              double alpha, const double *matrix, int64_t ld, const double *x,
              int64_t stepX, double *y, int64_t stepY) {
  cblas_dgemv(CblasRowMajor, transpose, rows, columns, alpha, matrix, ld, x,
              stepX, 1.0, y, stepY);
}

/// `gemm` is CBLAS's function for T.
template <typename T, typename Function>
void callGemm(Function gemm, const Product<T> &p) {
  gemm(CblasRowMajor, flag(p.aForm.transpose), flag(p.bForm.transpose), p.m,
       p.n, p.k, p.alpha, p.a, p.aForm.ld, p.b, p.bForm.ld, p.beta, p.c, p.ldc);
}

/// A matrix times a vector reads the matrix once: several times faster than
/// OpenBLAS's general product, which packs it first. oneDNN's knows vectors.
template <typename T> bool multiplyVector(const Product<T> &p) {
  if (p.m == 1) {
    scaleRows(p);
    // C^T = op(B)^T op(A)^T.
    bool stored = p.bForm.transpose;
    callGemv(flag(!stored), stored ? p.n : p.k, stored ? p.k : p.n, p.alpha,
             p.b, p.bForm.ld, p.a, p.aForm.transpose ? p.aForm.ld : 1, p.c, 1);
    return true;
  }
  if (p.n == 1) {
    scaleRows(p);
    bool stored = p.aForm.transpose;
    callGemv(flag(stored), stored ? p.k : p.m, stored ? p.m : p.k, p.alpha, p.a,
             p.aForm.ld, p.b, p.bForm.transpose ? 1 : p.bForm.ld, p.c, p.ldc);
    return true;
  }
  return false;
}
#endif

/// What is left where no library was found when tp was built.
template <typename T> [[maybe_unused]] void multiplyPlain(const Product<T> &p) {
  scaleRows(p);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t l = 0; l < p.k; ++l) {
      T left = p.alpha * (p.aForm.transpose ? p.a[l * p.aForm.ld + i]
                                            : p.a[i * p.aForm.ld + l]);
      for (int64_t j = 0; j < p.n; ++j)
        p.c[i * p.ldc + j] +=
            left * (p.bForm.transpose ? p.b[j * p.bForm.ld + l]
                                      : p.b[l * p.bForm.ld + j]);
    }
}

/// Few rows times the rows of a matrix. C has steps from one row and from one
/// column to the next.
void multiplyFewRows(int64_t m, int64_t n, int64_t k, float alpha,
                     const float *rows, int64_t ldRows, const float *matrix,
                     int64_t ldMatrix, float beta, float *c, int64_t rowStep,
                     int64_t columnStep) {
  constexpr int64_t mostSums = 8192;
  static_assert(mostSums >= mostFewRows);
  float sums[mostSums];
  int64_t count = 0;
  for (int64_t first = 0; first < n; first += count) {
    count = std::min(n - first, mostSums / m);
    std::fill(sums, sums + m * count, 0.0f);
    vectorLoops().addRowsTimesRows(rows, ldRows, m, k,
                                   matrix + first * ldMatrix, ldMatrix, count,
                                   sums, readsStreams());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < count; ++j) {
        float &to = c[i * rowStep + (first + j) * columnStep];
        float sum = alpha * sums[i * count + j];
        to = beta == 0 ? sum : sum + beta * to;
      }
  }
}

/// Elements from one row of `form`, or from one column of its transpose, to the
/// next, where each is contiguous; none where not.
std::optional<int64_t> stepOfRows(MatrixForm form, int64_t rows) {
  if (!form.transpose)
    return form.ld;
  // A single one may be stored as a column.
  return rows == 1 && form.ld == 1 ? std::optional<int64_t>(1) : std::nullopt;
}

/// A product of few rows, or columns, is bound by reading the other matrix.
/// Where that has the elements that are added up side by side, the libraries
/// read it at half of the speed of memory (bench/products).
bool multiplyFewRows(const Product<float> &p) {
  if (p.bForm.transpose && p.m > 0 && isOfFewRows(p.m, p.k))
    if (auto step = stepOfRows(p.aForm, p.m)) {
      multiplyFewRows(p.m, p.n, p.k, p.alpha, p.a, *step, p.b, p.bForm.ld,
                      p.beta, p.c, p.ldc, 1);
      return true;
    }
  if (!p.aForm.transpose && p.n > 0 && isOfFewRows(p.n, p.k))
    if (auto step = stepOfRows({!p.bForm.transpose, p.bForm.ld}, p.n)) {
      multiplyFewRows(p.n, p.m, p.k, p.alpha, p.b, *step, p.a, p.aForm.ld,
                      p.beta, p.c, 1, p.ldc);
      return true;
    }
  return false;
}

/// Very few rows times a matrix of short rows, such as the values of a head.
bool multiplyShortRows(const Product<float> &p) {
  constexpr int64_t mostColumns = 256;
  std::optional<int64_t> step = stepOfRows(p.aForm, p.m);
  if (p.bForm.transpose || p.m > veryFewRows || p.n > mostColumns || !step)
    return false;
  float sums[veryFewRows * mostColumns] = {};
  vectorLoops().addVeryFewTimesColumns(p.a, *step, p.m, p.k, p.b, p.bForm.ld,
                                       p.n, sums);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      float &to = p.c[i * p.ldc + j];
      float sum = p.alpha * sums[i * p.n + j];
      to = p.beta == 0 ? sum : sum + p.beta * to;
    }
  return true;
}

} // namespace

void tp::runtime::multiply(const Product<float> &p) {
  if (multiplyFewRows(p) || multiplyShortRows(p))
    return;
#if TP_HAVE_DNNL
  if (dnnl_sgemm(p.aForm.transpose ? 'T' : 'N', p.bForm.transpose ? 'T' : 'N',
                 p.m, p.n, p.k, p.alpha, p.a, p.aForm.ld, p.b, p.bForm.ld,
                 p.beta, p.c, p.ldc) == dnnl_success)
    return;
#endif
#if TP_HAVE_OPENBLAS
  if (!multiplyVector(p))
    callGemm(cblas_sgemm, p);
#else
  multiplyPlain(p);
#endif
}

void tp::runtime::multiply(const Product<double> &p) {
#if TP_HAVE_OPENBLAS
  if (!multiplyVector(p))
    callGemm(cblas_dgemm, p);
#else
  multiplyPlain(p);
#endif
}

namespace {

/// Calls `multiply` for every product of `command`.
template <typename T, typename Sum, typename T2 = T, typename Multiply>
void forEachProduct(const GemmCommand &command, GemmSizes sizes,
                    const GemmBuffers &buffers, char *packed,
                    Multiply multiply) {
  Product<T, Sum, T2> p{command.m,         sizes.columns,
                        sizes.terms,       Sum(command.alpha),
                        nullptr,           {command.a.transpose, command.a.ld},
                        nullptr,           {command.b.transpose, command.b.ld},
                        Sum(command.beta), nullptr,
                        command.c.ld};
  if (p.m == 0 || p.n == 0)
    return;
  size_t dimensions = command.batch.size();
  // The manifest bounds the number of batch dimensions; no allocation here.
  std::array<int64_t, maxBatchDimensions> index = {};
  for (size_t d = 0; d < dimensions; ++d)
    if (command.batch[d] == 0)
      return;
  for (;;) {
    int64_t offsetA = 0, offsetB = 0, offsetC = 0, offsetRows = 0,
            offsetTerms = 0, offsetPlaces = 0;
    for (size_t d = 0; d < dimensions; ++d) {
      offsetA += index[d] * command.a.batchStrides[d];
      offsetB += index[d] * command.b.batchStrides[d];
      offsetC += index[d] * command.c.batchStrides[d];
      if (command.rows)
        offsetRows += index[d] * command.rows->strides[d];
      if (command.terms)
        offsetTerms += index[d] * command.terms->strides[d];
      if (command.lookup)
        offsetPlaces += index[d] * command.lookup->strides[d];
    }
    if (const auto &lookup = command.lookup)
      offsetB +=
          lookup->step * std::clamp<int64_t>(buffers.places[offsetPlaces], 0,
                                             lookup->count - 1);
    p.a = static_cast<const T *>(buffers.a) + offsetA;
    p.b = static_cast<const T2 *>(buffers.b) + offsetB;
    p.c = static_cast<Sum *>(buffers.c) + offsetC;
    if (p.k == 0)
      scaleRows(p);
    else if (command.rows)
      multiplyRows(p, {buffers.rows + offsetRows, command.rows->strides.back()},
                   packed, multiply);
    else if (command.terms)
      multiplyTerms(
          p, {buffers.terms + offsetTerms, command.terms->strides.back()},
          packed, multiply);
    else
      multiply(p);
    size_t d = dimensions;
    while (d > 0 && ++index[d - 1] == command.batch[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

bool isNarrow(DataType type) {
  return type == DataType::F16 || type == DataType::BF16;
}

NarrowType narrowType(DataType type) {
  return type == DataType::F16 ? NarrowType::F16 : NarrowType::BF16;
}

} // namespace

/// Bytes that the products themselves work in, a multiple of 64.
static int64_t productScratch(const GemmCommand &command) {
  auto floats = [&]() -> int64_t {
    bool narrowA = isNarrow(command.dtype), narrowB = isNarrow(command.bDtype);
    if (narrowA && narrowB)
      return narrowScratch(command.m, command.n, command.k);
    if (narrowA || narrowB)
      return mixedScratch(narrowB ? command.m : command.n,
                          narrowB ? command.n : command.m, command.k);
    return 0;
  };
  return (floats() * int64_t(sizeof(float)) + 63) / 64 * 64;
}

int64_t tp::runtime::gemmScratch(const GemmCommand &command) {
  int64_t packed = 0;
  if (command.rows)
    packed = packedRowsBytes(command.m, command.n, command.k,
                             byteSize(command.dtype), byteSize(command.cDtype));
  if (command.terms)
    packed =
        packedTermsBytes(command.m, command.n, command.k,
                         byteSize(command.dtype), byteSize(command.bDtype));
  return productScratch(command) + packed;
}

void tp::runtime::gemm(const GemmCommand &command, GemmSizes sizes,
                       const GemmBuffers &buffers, void *scratch) {
  auto *floats = static_cast<float *>(scratch);
  // Where what is chosen is packed.
  char *packed = static_cast<char *>(scratch) + productScratch(command);
  bool narrowA = isNarrow(command.dtype), narrowB = isNarrow(command.bDtype);
  if (narrowA && narrowB) {
    forEachProduct<uint16_t, float>(
        command, sizes, buffers, packed, [&](const NarrowProduct &p) {
          multiplyNarrow(p, narrowType(command.dtype), floats);
        });
  } else if (narrowB) {
    forEachProduct<float, float, uint16_t>(
        command, sizes, buffers, packed,
        [&](const Product<float, float, uint16_t> &p) {
          multiplyMixed({p, 1}, narrowType(command.bDtype), floats);
        });
  } else if (narrowA) {
    // C^T = op(B)^T op(A)^T.
    auto transposed = [](MatrixForm form) {
      return MatrixForm{!form.transpose, form.ld};
    };
    forEachProduct<uint16_t, float, float>(
        command, sizes, buffers, packed,
        [&](const Product<uint16_t, float, float> &p) {
          multiplyMixed({{p.n, p.m, p.k, p.alpha, p.b, transposed(p.bForm), p.a,
                          transposed(p.aForm), p.beta, p.c, 1},
                         p.ldc},
                        narrowType(command.dtype), floats);
        });
  } else if (command.dtype == DataType::F64) {
    forEachProduct<double, double>(
        command, sizes, buffers, packed,
        [](const Product<double> &p) { multiply(p); });
  } else {
    forEachProduct<float, float>(command, sizes, buffers, packed,
                                 [](const Product<float> &p) { multiply(p); });
  }
}

void tp::runtime::useOneThreadPerRank() {
  // oneDNN runs on OpenMP, whose thread count belongs to the calling thread.
  // The library comes with oneDNN; tp itself does not link it.
  using SetThreads = void (*)(int);
  static auto setThreads =
      reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (setThreads)
    setThreads(1);
#if TP_HAVE_OPENBLAS
  // OpenBLAS has one count for the process.
  static bool once = (openblas_set_num_threads(1), true);
  (void)once;
#endif
}

const char *tp::runtime::gemmLibraries() {
#if TP_HAVE_DNNL && TP_HAVE_OPENBLAS
  return "f32 oneDNN, f64 OpenBLAS";
#elif TP_HAVE_DNNL
  return "f32 oneDNN, f64 plain loops";
#elif TP_HAVE_OPENBLAS
  return "f32 and f64 OpenBLAS";
#else
  return "plain loops (built without a BLAS: slow)";
#endif
}
