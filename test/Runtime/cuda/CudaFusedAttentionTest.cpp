//===- CudaFusedAttentionTest.cpp - attention by cuDNN --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttendForm.h"
#include "LoneRank.h"
#include "TimedRun.h"
#include <cmath>
#include <cstring>

using namespace tp::test;
using namespace tp::runtime;

namespace {

const char *const typeNames[] = {"", "f32", "f16", "bf16"};

/// A form under a name, with what a manifest says of it.
struct Form : AttendForm {
  std::string name;
  bool hasLower = false, hasUpper = false;
  const char *emptyRows = nullptr;
  /// Of q in its argument, in bytes.
  int64_t offset = 0;
  int64_t extraRow = 0;

  explicit Form(const char *name) : name(name) {
    batch = 2;
    heads = 4;
    kvHeads = 4;
    queries = 12;
    keys = 12;
    headSize = valueSize = 16;
    scale = 0.25;
  }
  Form &sizes(int64_t h, int64_t g, int64_t s, int64_t t) {
    heads = h, kvHeads = g, queries = s, keys = t;
    return *this;
  }
  Form &columns(int64_t d, int64_t e) {
    headSize = d, valueSize = e;
    return *this;
  }
  Form &below(int64_t bound) {
    upper = bound, hasUpper = true;
    return *this;
  }
  Form &above(int64_t bound) {
    lower = bound, hasLower = true;
    return *this;
  }
  Form &of(int64_t dtype) {
    type = dtype;
    return *this;
  }
  Form &withEmptyRows() {
    emptyRows = "nan";
    return *this;
  }
  Form &withOffset(int64_t bytes) {
    offset = bytes;
    return *this;
  }
  Form &withBias(int64_t dtype, std::vector<int64_t> strides) {
    biasType = dtype;
    std::copy(strides.begin(), strides.end(), biasStrides);
    return *this;
  }
  /// Rows of all heads side by side, or all rows of a head.
  Form &laidOut(bool headsInside, int64_t gap = 0) {
    const int64_t h[] = {heads, kvHeads, kvHeads, heads};
    const int64_t s[] = {queries, keys, keys, queries};
    const int64_t c[] = {headSize, headSize, valueSize, valueSize};
    for (int i = 0; i < 4; ++i) {
      int64_t row = c[i] + gap;
      strides[i][0] = h[i] * s[i] * row;
      strides[i][1] = headsInside ? row : s[i] * row;
      strides[i][2] = headsInside ? h[i] * row : row;
    }
    return *this;
  }
  int64_t elements(int operand) const { return batch * strides[operand][0]; }
  int64_t biasElements() const { return 1 + batch * heads * queries * keys; }
};

/// An attention whose steps are one kernel.
CudaProgram programOf(const Form &form) {
  CudaProgram program({{"tp", 1}});
  const char *dtype = typeNames[form.type];
  const char *names[] = {"q", "k", "v"};
  for (int i = 0; i < 3; ++i)
    program.addArgument(names[i], dtype, form.elements(i) + 16);
  bool biased = form.biasType != AttendForm::None;
  program.addArgument("bias", biased ? typeNames[form.biasType] : "f32",
                      form.biasElements());
  program.addResult("o", dtype, form.elements(3));
  const AttendForm &numbers = form;
  program.constants.assign(reinterpret_cast<const char *>(&numbers),
                           sizeof(numbers));
  program.addLaunch("attend",
                    {argumentBuffer(0, form.offset), argumentBuffer(1),
                     argumentBuffer(2), argumentBuffer(3), resultBuffer(0),
                     json{{"space", "constant"}, {"offset", 0}}},
                    1);
  json steps = program.manifest["program"];
  json attention = {{"command", "attention"},
                    {"dtype", dtype},
                    {"batch", form.batch},
                    {"heads", form.heads},
                    {"kv_heads", form.kvHeads},
                    {"queries", form.queries},
                    {"keys", form.keys},
                    {"head_size", form.headSize},
                    {"value_size", form.valueSize},
                    {"scale", form.scale},
                    {"steps", steps},
                    {"module", "layer.attn"},
                    {"location", "sdpa"}};
  if (form.hasLower)
    attention["lower"] = form.lower;
  if (form.hasUpper)
    attention["upper"] = form.upper;
  if (form.emptyRows)
    attention["empty_rows"] = form.emptyRows;
  json buffers[] = {argumentBuffer(0, form.offset), argumentBuffer(1),
                    argumentBuffer(2), resultBuffer(0)};
  const char *operands[] = {"q", "k", "v", "o"};
  for (int i = 0; i < 4; ++i)
    attention[operands[i]] = {{"buffer", buffers[i]},
                              {"strides", form.strides[i]}};
  if (biased)
    attention["bias"] = {{"buffer", argumentBuffer(3)},
                         {"dtype", typeNames[form.biasType]},
                         {"strides", form.biasStrides}};
  program.manifest["program"] = json::array({attention});
  return program;
}

float valueOf(int64_t argument, int64_t i) {
  // Some are far enough apart for masks and biases to matter.
  return float((i * 37 + argument * 11) % 29 - 14) / (argument == 3 ? 4 : 8);
}

class CudaFusedAttentionTest : public testing::Test {
protected:
  void TearDown() override { unsetenv("TP_CUDNN"); }

  /// The result, with `library` as TP_CUDNN.
  std::vector<double> run(const Form &form, const char *library,
                          RankFacts &counts) {
    setenv("TP_CUDNN", library, 1);
    LoneRank rank(programOf(form));
    EXPECT_OK(rank.created);
    if (!rank.created.ok())
      return {};
    counts = rank.rank().facts();
    for (int64_t a = 0; a < 4; ++a)
      rank.load(a, [&](int64_t i) { return valueOf(a, i); });
    EXPECT_OK(rank.run());
    return rank.result(0);
  }
};

std::vector<Form> supportedForms() {
  auto form = [](const char *name) { return Form(name); };
  return {
      form("plain").laidOut(true),
      form("f16").of(AttendForm::F16).laidOut(true),
      form("heads outside").laidOut(false),
      form("gaps between rows").laidOut(true, 8),
      form("causal").below(0).laidOut(true),
      form("causal, more queries").sizes(4, 4, 12, 5).below(0).laidOut(true),
      form("the last queries").sizes(4, 2, 5, 12).below(7).laidOut(true),
      form("a diagonal in between").sizes(4, 4, 5, 12).below(3).laidOut(true),
      form("bounds that hide none").below(11).above(-11).laidOut(true),
      form("window").above(-2).laidOut(true),
      form("causal window").below(0).above(-3).laidOut(true),
      form("window of one").below(0).above(0).laidOut(true),
      form("window of the last queries")
          .sizes(4, 4, 5, 12)
          .below(7)
          .above(5)
          .laidOut(true),
      form("groups of heads").sizes(6, 2, 7, 9).below(0).laidOut(true),
      form("one head of keys").sizes(4, 1, 7, 9).laidOut(false),
      form("columns differ").columns(24, 8).laidOut(true),
      form("one query").sizes(4, 2, 1, 13).laidOut(true),
      form("one key").sizes(2, 2, 3, 1).laidOut(true),
      form("bias of everything")
          .withBias(AttendForm::BF16, {4 * 144, 144, 12, 1})
          .laidOut(true),
      form("bias of f32 for all heads")
          .withBias(AttendForm::F32, {0, 0, 12, 1})
          .below(0)
          .laidOut(true),
      form("bias of keys")
          .withBias(AttendForm::F32, {12, 0, 0, 1})
          .laidOut(true),
      form("bias of heads and keys")
          .withBias(AttendForm::BF16, {0, 20, 0, 1})
          .above(-4)
          .below(0)
          .laidOut(true),
  };
}

/// By cuDNN and by the steps the same, up to the rounding of probabilities.
TEST_F(CudaFusedAttentionTest, IsTheSameAsItsSteps) {
  for (const Form &form : supportedForms()) {
    SCOPED_TRACE(form.name);
    RankFacts fused, apart;
    std::vector<double> got = run(form, TP_FAKE_CUDNN, fused);
    std::vector<double> wanted = run(form, "off", apart);
    EXPECT_EQ(fused.fusedAttentions, 1) << fused.whyInSteps;
    EXPECT_EQ(fused.attentionsInSteps, 0);
    EXPECT_EQ(apart.attentionsInSteps, 1);
    EXPECT_EQ(apart.whyInSteps, "TP_CUDNN is off");
    ASSERT_EQ(got.size(), wanted.size());
    double most = 0, written = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      // What lies between rows keeps the poison.
      ASSERT_EQ(std::isnan(got[i]), std::isnan(wanted[i])) << i;
      if (std::isnan(got[i]))
        continue;
      ++written;
      most = std::max(most, std::abs(got[i] - wanted[i]));
    }
    EXPECT_EQ(written, form.batch * form.heads * form.queries * form.valueSize);
    // Values are at most 1.75.
    EXPECT_LT(most, form.type == AttendForm::F16 ? 0.002 : 0.016);
  }
}

/// What cuDNN is not asked for, or does not do, the steps do.
TEST_F(CudaFusedAttentionTest, OtherFormsRunInSteps) {
  auto form = [] { return Form(""); };
  struct Case {
    Form form;
    const char *reason;
  };
  const Case cases[] = {
      {form().of(AttendForm::F32).laidOut(true), "f32"},
      {form().columns(12, 16).laidOut(true),
       "a head size of 12, expected a multiple of 8 up to 256"},
      {form().columns(16, 264).laidOut(true), "a head size of 264"},
      {form().below(0).withEmptyRows().laidOut(true),
       "queries that see no key"},
      {form().laidOut(true, 4), "operand q is not aligned to 16 bytes"},
      {form().withOffset(16).laidOut(true), ""},
      {form().sizes(4, 4, 12, 5).above(-7).withEmptyRows().laidOut(true),
       "queries that see no key"},
      {form().sizes(4, 4, 5, 12).above(2).laidOut(true),
       "a window above the diagonal"},
      {form().sizes(4, 4, 7, 5).above(-5).below(4).laidOut(true),
       "a window over fewer keys than queries"},
      {form().withBias(AttendForm::F16, {0, 0, 12, 1}).laidOut(true),
       "a bias of f16"},
      {form().withBias(AttendForm::F32, {0, 0, 1, 12}).laidOut(true),
       "the bias has a stride of 12 along the keys"},
      {form().withBias(AttendForm::F32, {0, 0, 1, 1}).laidOut(true),
       "rows of the bias overlap"},
      {form()
           .sizes(4, 4, 5, 12)
           .withBias(AttendForm::F32, {0, 0, 12, 1})
           .below(7)
           .laidOut(true),
       "a bias and a diagonal that does not begin in the corner"},
  };
  for (const Case &one : cases) {
    SCOPED_TRACE(one.reason);
    RankFacts counts, apart;
    std::vector<double> got = run(one.form, TP_FAKE_CUDNN, counts);
    std::vector<double> wanted = run(one.form, "off", apart);
    bool fused = std::string(one.reason).empty();
    EXPECT_EQ(counts.fusedAttentions, fused);
    EXPECT_EQ(counts.attentionsInSteps, !fused);
    EXPECT_EQ(counts.whyInSteps.substr(0, std::strlen(one.reason)), one.reason);
    for (size_t i = 0; i < got.size() && !fused; ++i)
      ASSERT_TRUE(got[i] == wanted[i] ||
                  (std::isnan(got[i]) && std::isnan(wanted[i])));
  }
}

/// On a device that is the host the installed cuDNN is not for it.
TEST_F(CudaFusedAttentionTest, TheHostHasNoLibraryOfItsOwn) {
  RankFacts counts;
  run(Form("plain").laidOut(true), "", counts);
  EXPECT_EQ(counts.whyInSteps,
            "TP_CUDNN names no library for a device that is the host");
}

/// Failures end in an error that names the attention; what the library cannot
/// do does not.
TEST_F(CudaFusedAttentionTest, FailuresNameTheAttention) {
  struct Case {
    const char *environment;
    int exitStatus;
    const char *text;
  };
  const std::string place =
      "rank 0, command 0, attention 'sdpa' of module 'layer.attn': ";
  const Case cases[] = {
      {"", 0, "  by cuDNN: 1, in steps: 0\n"},
      {"TP_CUDNN=off", 0, "  by cuDNN: 0, in steps: 1 (TP_CUDNN is off)\n"},
      {"TP_CUDNN=/nowhere/libcudnn.so.9", 1,
       "cannot open cuDNN, libcudnn.so.9 (or the file that TP_CUDNN names)"},
      {"TP_FAKE_CUDNN_VERSION=91002", 1,
       "cuDNN: expected version 9.11 or later, got 91002"},
      {"TP_FAKE_FAULT=cudnnCreate@0:1:1001", 1,
       "cudnnCreate: CUDNN_STATUS_NOT_INITIALIZED (1001)"},
      {"TP_FAKE_FAULT=cudnnSetStream@0:1:2000", 1,
       "cudnnSetStream: CUDNN_STATUS_BAD_PARAM (2000)"},
      {"TP_FAKE_FAULT=cudnnBackendCreateDescriptor@0:1:4000", 1,
       "cudnnBackendCreateDescriptor: CUDNN_STATUS_INTERNAL_ERROR (4000)"},
      {"TP_FAKE_FAULT=cudnnBackendSetAttribute@0:9:2000", 1,
       "cudnnBackendSetAttribute: CUDNN_STATUS_BAD_PARAM (2000)"},
      {"TP_FAKE_FAULT=cudnnBackendFinalize@0:2:2000", 1,
       "cudnnBackendFinalize: CUDNN_STATUS_BAD_PARAM (2000)"},
      {"TP_FAKE_FAULT=cudnnBackendGetAttribute@0:2:4000", 1,
       "cudnnBackendGetAttribute: CUDNN_STATUS_INTERNAL_ERROR (4000)"},
      {"TP_FAKE_FAULT=cudnnBackendGetAttribute@0:1:3001", 0,
       "in steps: 1 (cudnnBackendGetAttribute: "
       "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN (3001))"},
      {"TP_FAKE_FAULT=cudnnBackendExecute@0:1:5000", 1,
       "cudnnBackendExecute: CUDNN_STATUS_EXECUTION_FAILED (5000)"},
      // In the graph.
      {"TP_FAKE_FAULT=cudnnBackendExecute@0:2:5000", 1,
       "cudnnBackendExecute: CUDNN_STATUS_EXECUTION_FAILED (5000)"},
      {"TP_FAKE_FAULT=cudnnBackendExecute@0:1:fail", 1,
       "cuStreamQuery: CUDA_ERROR_ILLEGAL_ADDRESS (700)"},
      {"TP_FAKE_FAULT=cudnnBackendExecute@0:1:hang", 1,
       "rank 0 waited %T s in command 0, attention 'sdpa' of module"},
  };
  for (const Case &one : cases) {
    SCOPED_TRACE(one.environment);
    CudaRun folder;
    programOf(Form("causal").below(0).laidOut(true)).write(folder.file("m.tp"));
    std::string part = one.text;
    CudaOutcome done =
        runInTime(folder, "m.tp --random-data=1 --repeat=3 --stats",
                  one.environment, part);
    EXPECT_EQ(done.exitStatus, one.exitStatus) << done.err;
    const std::string &text = one.exitStatus ? done.err : done.out;
    EXPECT_NE(text.find(part), std::string::npos) << text;
    if (one.exitStatus && part == one.text)
      EXPECT_NE(text.find(place), std::string::npos) << text;
  }
}

/// One plan for all attentions of a form, and one workspace.
TEST_F(CudaFusedAttentionTest, AttentionsOfOneFormShareAPlan) {
  CudaRun folder;
  CudaProgram program = programOf(Form("causal").below(0).laidOut(true));
  json &commands = program.manifest["program"];
  for (int i = 0; i < 3; ++i)
    commands.push_back(json(commands[0]));
  commands[3]["scale"] = 0.5;
  program.write(folder.file("m.tp"));
  // Two forms, of each three answers of the library.
  for (auto [number, exitStatus] : {std::pair(6, 1), std::pair(7, 0)}) {
    CudaOutcome done = folder.run("m.tp --random-data=1 --repeat=3 --stats",
                                  "TP_FAKE_FAULT=cudnnBackendGetAttribute@0:" +
                                      std::to_string(number) + ":4000");
    EXPECT_EQ(done.exitStatus, exitStatus) << done.err;
  }
}

} // namespace
