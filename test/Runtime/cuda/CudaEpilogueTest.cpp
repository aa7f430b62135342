//===- CudaEpilogueTest.cpp - what follows a product on a device ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaRun.h"
#include "LoneRank.h"
#include <cmath>
#include <cstring>

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// Products of 3 x k by k x 5 in batches of 2, rows with gaps.
struct Form {
  const char *name, *dtype, *cDtype;
  int64_t k;
  /// Without a residual beta is 0.
  double alpha, beta;
  bool bias;
  const char *activation;
  /// The two batches do not follow each other at one distance in all operands,
  /// so that there are two calls.
  bool twoCalls = false;
};

constexpr int64_t rows = 3, columns = 5, batch = 2;
constexpr int64_t cRow = 7, cBatch = 24, rRow = 6, rBatch = 20;

CudaProgram programOf(const Form &form) {
  CudaProgram program({{"tp", 1}});
  std::string stored = form.dtype == std::string("tf32") ? "f32" : form.dtype;
  program.addArgument("a", stored, 128);
  program.addArgument("b", stored, 128);
  program.addArgument("r", form.cDtype, 128);
  program.addArgument("bias", form.cDtype, 8);
  program.addResult("all", form.cDtype, 128);
  program.addGemm(form.dtype, rows, columns, form.k, argumentBuffer(0),
                  argumentBuffer(1), resultBuffer(0));
  json &gemm = program.manifest["program"].back();
  gemm["c_dtype"] = form.cDtype;
  gemm["alpha"] = form.alpha;
  gemm["beta"] = form.beta;
  if (form.twoCalls)
    gemm["batch"] = {batch, 1, 2};
  else
    gemm["batch"] = {batch};
  auto lay = [&](const char *operand, int64_t ld, int64_t stride) {
    gemm[operand]["ld"] = ld;
    if (form.twoCalls)
      gemm[operand]["batch_strides"] = {stride, 0,
                                        operand == std::string("a") ? 1 : 0};
    else
      gemm[operand]["batch_strides"] = {stride};
  };
  int64_t k = std::max<int64_t>(form.k, 1);
  lay("a", k, rows * k);
  lay("b", columns, columns * k);
  lay("c", cRow, cBatch);
  if (form.twoCalls)
    gemm["c"]["batch_strides"] = {cBatch, 0, 2 * cBatch};
  if (form.beta != 0) {
    gemm["residual"] = {{"buffer", argumentBuffer(2)}};
    lay("residual", rRow, rBatch);
  }
  if (form.bias)
    gemm["bias"] = {{"buffer", argumentBuffer(3)}};
  if (form.activation)
    gemm["activation"] = form.activation;
  return program;
}

double valueOf(int64_t argument, int64_t i) {
  return double((i * 7 + argument * 5) % 11 - 5) / 4;
}

double activated(const char *activation, double x) {
  if (!activation)
    return x;
  if (activation == std::string("relu"))
    return std::max(x, 0.0);
  return x / 2 *
         (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

const Form forms[] = {
    {"bias", "f32", "f32", 4, 1, 0, true, nullptr},
    {"relu", "f32", "f32", 4, 1, 0, false, "relu"},
    {"gelu", "bf16", "bf16", 4, 1, 0, false, "gelu_tanh"},
    {"bias and relu", "f16", "f16", 4, 2, 0, true, "relu"},
    {"bias and gelu", "bf16", "f32", 4, 1, 0, true, "gelu_tanh"},
    {"a residual", "bf16", "bf16", 4, 1, 1, false, nullptr},
    {"a residual of f64", "f64", "f64", 4, 1, -1, false, nullptr},
    {"everything", "tf32", "f32", 4, 2, 0.5, true, "gelu_tanh"},
    {"everything, f16", "f16", "f32", 4, 2, 0.5, true, "relu"},
    {"two calls", "f32", "f32", 4, 1, 0, true, "relu", true},
    {"no products", "f32", "f32", 0, 1, 0, true, "relu"},
    {"no products, a residual", "bf16", "bf16", 0, 1, 1, false, nullptr},
    {"no products, everything", "f32", "f32", 0, 1, 0.5, true, "gelu_tanh"},
    {"nothing", "f32", "f32", 0, 1, 0, false, nullptr},
};

TEST(CudaEpilogueTest, IsWhatTheManifestSays) {
  for (const Form &form : forms) {
    SCOPED_TRACE(form.name);
    LoneRank rank(programOf(form));
    ASSERT_OK(rank.created);
    for (int64_t a = 0; a < 4; ++a)
      rank.load(a, [&](int64_t i) { return valueOf(a, i); });
    ASSERT_OK(rank.run());
    std::vector<double> c = rank.result(0);
    double rounding = form.cDtype == std::string("bf16")  ? 0.004
                      : form.cDtype == std::string("f16") ? 0.0005
                                                          : 1e-6;
    int64_t written = 0;
    for (int64_t o = 0; o < (form.twoCalls ? 2 : 1); ++o)
      for (int64_t p = 0; p < batch; ++p)
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j) {
            int64_t k = form.k;
            double sum = 0;
            for (int64_t l = 0; l < k; ++l)
              sum += valueOf(0, o + p * rows * k + i * k + l) *
                     valueOf(1, p * columns * k + l * columns + j);
            double r = form.beta ? valueOf(2, p * rBatch + i * rRow + j) : 0;
            double wanted =
                activated(form.activation, form.alpha * sum + form.beta * r +
                                               (form.bias ? valueOf(3, j) : 0));
            double got = c[o * 2 * cBatch + p * cBatch + i * cRow + j];
            ASSERT_NEAR(got, wanted, rounding * std::max(1.0, std::abs(wanted)))
                << p << " " << i << " " << j;
            ++written;
          }
    int64_t numbers = 0;
    for (double value : c)
      numbers += !std::isnan(value);
    EXPECT_EQ(numbers, written) << "gaps between rows are not written";
  }
}

/// c = c + ...: in place, with c named or not; three steps add three times.
TEST(CudaEpilogueTest, ResidualsMayBeTheResult) {
  for (const char *way : {"unnamed", "named", "no products"}) {
    SCOPED_TRACE(way);
    CudaProgram program({{"tp", 1}});
    for (const char *name : {"a", "b", "c"})
      program.addArgument(name, "f32", 16);
    program.addResult("out", "f32", 64);
    program.addNext("c", "f32", 16);
    bool empty = way == std::string("no products");
    program.addGemm("f32", 4, 4, empty ? 0 : 4, argumentBuffer(0),
                    argumentBuffer(1), argumentBuffer(2));
    json &gemm = program.manifest["program"].back();
    gemm["a"]["ld"] = 4;
    gemm["beta"] = empty ? 0.5 : 1.0;
    if (way == std::string("named"))
      gemm["residual"] = gemm["c"];
    program.addLaunch("look", {argumentBuffer(2), resultBuffer(0)}, 16);
    LoneRank rank(program);
    ASSERT_OK(rank.created);
    for (int64_t a = 0; a < 3; ++a)
      rank.load(a, [&](int64_t i) { return valueOf(a, i); });
    ASSERT_OK(rank.run());
    std::vector<double> out = rank.result(0);
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < 4; ++j) {
        double sum = 0, before = valueOf(2, i * 4 + j);
        for (int64_t l = 0; l < 4; ++l)
          sum += valueOf(0, i * 4 + l) * valueOf(1, l * 4 + j);
        EXPECT_NEAR(out[i * 4 + j], empty ? before / 8 : before + 3 * sum,
                    1e-5);
      }
  }
}

/// A product with a bias is another one in the file of algorithms.
TEST(CudaEpilogueTest, AlgorithmsAreOfTheEpilogue) {
  CudaRun folder;
  Form form = forms[0];
  for (const char *activation : {"relu", "gelu_tanh", ""}) {
    form.activation = *activation ? activation : nullptr;
    programOf(form).write(folder.file("m.tp"));
    CudaOutcome done = folder.run("m.tp --random-data=1");
    ASSERT_EQ(done.exitStatus, 0) << done.err;
  }
  std::string kept = readFile(folder.file("cublaslt-algorithms"));
  EXPECT_EQ(std::count(kept.begin(), kept.end(), '\n'), 3) << kept;
}

TEST(CudaEpilogueTest, InfoListsIt) {
  CudaRun folder;
  programOf(forms[7]).write(folder.file("m.tp"));
  CudaOutcome done = folder.run("--info m.tp");
  // a and b of 2 x (3 x 4 + 4 x 5), c and the residual of 2 x 3 x 5, the bias
  // of 5 elements of 4 bytes.
  EXPECT_NE(done.out.find("tf32  [2]    3  5  4  "
                          "NN, residual, bias, gelu_tanh    516    240"),
            std::string::npos)
      << done.out;
}

TEST(CudaEpilogueTest, FailuresNameTheProduct) {
  CudaRun folder;
  Form form = forms[7];
  programOf(form).write(folder.file("m.tp"));
  EXPECT_EQ(folder.run("m.tp --random-data=1").exitStatus, 0);
  // Two transposes, the epilogue, the bias.
  for (const char *number : {"3", "4"}) {
    CudaOutcome done = folder.run(
        "m.tp --random-data=1",
        std::string("TP_FAKE_FAULT=cublasLtMatmulDescSetAttribute@0:") +
            number + ":7");
    EXPECT_EQ(done.exitStatus, 1);
    EXPECT_NE(done.err.find("rank 0, command 0, gemm 'linear' of module 'mlp': "
                            "cublasLtMatmulDescSetAttribute: "
                            "CUBLAS_STATUS_INVALID_VALUE (7)"),
              std::string::npos)
        << done.err;
  }
}

} // namespace
