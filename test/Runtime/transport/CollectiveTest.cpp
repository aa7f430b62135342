//===- CollectiveTest.cpp - every collective against a serial reference ---===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include <cmath>
#include <cstring>
#include <map>

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// bf16 by arithmetic on values, where the runtime works on bits.
struct Bfloat {
  uint16_t bits;
  Bfloat() = default;
  explicit Bfloat(float value) {
    if (std::isfinite(value) && value != 0) {
      int exponent;
      float mantissa = std::frexp(value, &exponent);
      value = std::ldexp(std::nearbyint(mantissa * 256) / 256, exponent);
    }
    uint32_t word;
    std::memcpy(&word, &value, 4);
    bits = word >> 16;
  }
  explicit operator float() const {
    uint32_t word = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &word, 4);
    return value;
  }
};

/// Float8Test.cpp tests the conversions themselves.
template <DataType type> struct Float8 {
  uint8_t bits;
  Float8() = default;
  explicit Float8(float value) { bits = floatToFloat8(type, value); }
  explicit operator float() const { return float8ToFloat(type, bits); }
};

struct Case {
  std::string kind, dtype, reduction;
  int64_t outer, block;
};

/// Input bytes of one rank: a few values that make sums, products, ties,
/// infinities and NaN, different on every rank.
void fillInput(DataType type, int64_t rank, int64_t salt, int64_t count,
               char *data) {
  uint64_t state = salt * 1000003 + rank * 7919 + 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    int64_t small = int64_t(state >> 33) % 41 - 20;
    double real = double(small) * 0.375;
    if ((state >> 40) % 97 == 0)
      real = NAN;
    else if ((state >> 41) % 89 == 0)
      real = INFINITY;
    auto put = [&](auto value) {
      std::memcpy(data + i * sizeof(value), &value, sizeof(value));
    };
    switch (type) {
    case DataType::F64:
      put(real);
      break;
    case DataType::F32:
      put(float(real));
      break;
    case DataType::F16:
      put(_Float16(real));
      break;
    case DataType::BF16:
      put(Bfloat(float(real)));
      break;
    case DataType::F8E4M3FN:
    case DataType::F8E5M2:
    case DataType::F8E4M3FNUZ:
    case DataType::F8E5M2FNUZ:
      put(floatToFloat8(type, float(real)));
      break;
    case DataType::I1:
      put(int8_t(small & 1));
      break;
    case DataType::I8:
    case DataType::U8:
      put(int8_t(small * 5));
      break;
    case DataType::I16:
    case DataType::U16:
      put(int16_t(small * 1500));
      break;
    case DataType::I32:
    case DataType::U32:
      put(int32_t(small * 100000003));
      break;
    default:
      put(int64_t(state));
      break;
    }
  }
}

template <typename T> T combineWrapping(const std::string &op, T a, T b) {
  using Wide = unsigned __int128;
  if (op == "sum")
    return T(Wide(a) + Wide(b));
  if (op == "product")
    return T(Wide(a) * Wide(b));
  return (op == "max") == (a < b) ? b : a;
}

template <typename T> T combineReal(const std::string &op, T a, T b) {
  if (op == "sum" || op == "avg")
    return a + b;
  if (op == "product")
    return a * b;
  if (std::isnan(a) || std::isnan(b))
    return NAN;
  return op == "max" ? std::max(a, b) : std::min(a, b);
}

/// Element i of the members' inputs, combined in order of position.
template <typename Stored, typename Wide>
void reduceElement(const std::string &op,
                   const std::vector<const char *> &inputs, int64_t i,
                   char *out) {
  auto element = [&](size_t p) {
    Stored value;
    std::memcpy(&value, inputs[p] + i * sizeof(Stored), sizeof(Stored));
    return Wide(value);
  };
  Wide sum = element(0);
  for (size_t p = 1; p < inputs.size(); ++p) {
    if constexpr (std::is_integral_v<Wide>)
      sum = combineWrapping(op, sum, element(p));
    else
      sum = combineReal(op, sum, element(p));
  }
  if constexpr (!std::is_integral_v<Wide>)
    if (op == "avg")
      sum = sum / Wide(inputs.size());
  Stored result = Stored(sum);
  std::memcpy(out, &result, sizeof(result));
}

void reduceElement(DataType type, const std::string &op,
                   const std::vector<const char *> &inputs, int64_t i,
                   char *out) {
  switch (type) {
  case DataType::F64:
    return reduceElement<double, double>(op, inputs, i, out);
  case DataType::F32:
    return reduceElement<float, float>(op, inputs, i, out);
  case DataType::F16:
    return reduceElement<_Float16, float>(op, inputs, i, out);
  case DataType::BF16:
    return reduceElement<Bfloat, float>(op, inputs, i, out);
  case DataType::F8E4M3FN:
    return reduceElement<Float8<DataType::F8E4M3FN>, float>(op, inputs, i, out);
  case DataType::F8E5M2:
    return reduceElement<Float8<DataType::F8E5M2>, float>(op, inputs, i, out);
  case DataType::F8E4M3FNUZ:
    return reduceElement<Float8<DataType::F8E4M3FNUZ>, float>(op, inputs, i,
                                                              out);
  case DataType::F8E5M2FNUZ:
    return reduceElement<Float8<DataType::F8E5M2FNUZ>, float>(op, inputs, i,
                                                              out);
  case DataType::I32:
    return reduceElement<int32_t, int32_t>(op, inputs, i, out);
  case DataType::I16:
    return reduceElement<int16_t, int16_t>(op, inputs, i, out);
  case DataType::I8:
  case DataType::I1:
    return reduceElement<int8_t, int8_t>(op, inputs, i, out);
  case DataType::U64:
    return reduceElement<uint64_t, uint64_t>(op, inputs, i, out);
  case DataType::U32:
    return reduceElement<uint32_t, uint32_t>(op, inputs, i, out);
  case DataType::U16:
    return reduceElement<uint16_t, uint16_t>(op, inputs, i, out);
  case DataType::U8:
    return reduceElement<uint8_t, uint8_t>(op, inputs, i, out);
  default:
    return reduceElement<int64_t, int64_t>(op, inputs, i, out);
  }
}

/// The definition of docs/artifact.md, element by element.
std::string reference(const Case &c, const std::vector<std::string> &inputs,
                      int64_t position, const std::vector<int64_t> &sources) {
  DataType type = *parseDataType(c.dtype);
  int64_t size = byteSize(type), n = inputs.size();
  std::vector<const char *> raw;
  for (const std::string &input : inputs)
    raw.push_back(input.data());
  bool wide = c.kind == "all_gather" || c.kind == "all_to_all";
  std::string out(c.outer * c.block * size * (wide ? n : 1), '\0');
  for (int64_t o = 0; o < c.outer; ++o)
    for (int64_t b = 0; b < c.block; ++b) {
      auto copy = [&](int64_t to, int64_t from, int64_t p) {
        std::memcpy(out.data() + to * size, raw[p] + from * size, size);
      };
      int64_t flat = o * c.block + b;
      if (c.kind == "all_reduce")
        reduceElement(type, c.reduction, raw, flat, out.data() + flat * size);
      if (c.kind == "permute")
        copy(flat, flat, sources[position]);
      if (c.kind == "reduce_scatter") {
        std::vector<const char *> shifted;
        for (const char *data : raw)
          shifted.push_back(data + ((o * n + position) * c.block + b) * size);
        reduceElement(type, c.reduction, shifted, 0, out.data() + flat * size);
      }
      for (int64_t p = 0; p < n && wide; ++p) {
        if (c.kind == "all_gather")
          copy((o * n + p) * c.block + b, flat, p);
        else
          copy((p * c.outer + o) * c.block + b,
               (o * n + position) * c.block + b, p);
      }
    }
  return out;
}

bool sameFloats(DataType type, const std::string &a, const char *b) {
  // Which NaN an operation gives is not fixed, that it is one is.
  for (int64_t i = 0, n = int64_t(a.size()) / byteSize(type); i < n; ++i) {
    double x = elementAsDouble(type, a.data(), i);
    double y = elementAsDouble(type, b, i);
    if (std::isnan(x) ? !std::isnan(y)
                      : std::memcmp(a.data() + i * byteSize(type),
                                    b + i * byteSize(type), byteSize(type)))
      return false;
  }
  return true;
}

std::vector<Case> allCases(int64_t members) {
  std::vector<Case> cases;
  const std::pair<int64_t, int64_t> small[] = {{1, 5}, {3, 4}};
  for (const char *dtype :
       {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "i1", "index",
        "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "u64", "u32", "u16",
        "u8"}) {
    DataType type = *parseDataType(dtype);
    for (auto [outer, block] : small) {
      for (const char *kind : {"all_gather", "all_to_all", "permute"})
        cases.push_back({kind, dtype, "", outer, block});
      for (const char *op : {"sum", "avg", "product", "max", "min"}) {
        bool order = op == std::string("max") || op == std::string("min");
        if ((type == DataType::I1 && !order) ||
            (op == std::string("avg") && !isFloat(type)))
          continue;
        cases.push_back({"all_reduce", dtype, op, outer, block});
        cases.push_back({"reduce_scatter", dtype, op, outer, block});
      }
    }
  }
  // Larger than what travels inside the control block, and not a multiple of
  // anything.
  for (const char *dtype : {"f32", "bf16", "f64"})
    for (const char *kind : {"all_reduce", "reduce_scatter", "all_gather",
                             "all_to_all", "permute"})
      cases.push_back({kind, dtype, "sum", 3, 8192 / members + 1037});
  // What is read from a file: many short blocks, and blocks longer than a
  // piece.
  for (const char *kind :
       {"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "permute"})
    for (auto [outer, block] : {std::pair(3001, 7), std::pair(2, 20011)})
      cases.push_back({kind, "f32", "sum", outer, block});
  return cases;
}

class CollectiveTest
    : public testing::TestWithParam<std::tuple<Mode, int64_t>> {};

TEST_P(CollectiveTest, MatchesTheDefinition) {
  auto [mode, ranks] = GetParam();
  TestProgram program({{"tp", ranks}});
  std::vector<int64_t> order, sources;
  // The order of the group is not the order of the ranks.
  for (int64_t r = 0; r < ranks; ++r) {
    order.push_back((ranks - r) % ranks);
    sources.push_back((r + ranks - 1) % ranks);
  }
  program.manifest["mesh"]["device_order"] = order;
  int64_t group = program.addGroup({order});
  std::vector<Case> cases = allCases(ranks);
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case &c = cases[i];
    int64_t length = c.outer * c.block;
    bool wideIn = c.kind == "reduce_scatter" || c.kind == "all_to_all";
    bool wideOut = c.kind == "all_gather" || c.kind == "all_to_all";
    std::string name = std::to_string(i);
    int64_t in =
        program.addArgument("a" + name, c.dtype, length * (wideIn ? ranks : 1));
    int64_t out =
        program.addResult("r" + name, c.dtype, length * (wideOut ? ranks : 1));
    program.addCollective(c.kind, c.dtype, c.reduction, group, ranks,
                          argumentBuffer(in), resultBuffer(out), c.outer,
                          c.block);
    if (c.kind == "permute")
      program.manifest["program"].back()["sources"] = sources;
    if (c.kind != "all_reduce" && c.kind != "reduce_scatter")
      program.manifest["collectives"].back().erase("reduction");
  }
  std::unique_ptr<Artifact> artifact = program.open();
  ASSERT_TRUE(artifact);
  const EntryView &entry = artifact->entry();
  auto fill = [&](Rank &rank) {
    for (size_t i = 0; i < cases.size(); ++i) {
      DataType type = entry.arguments[i].dtype;
      fillInput(type, rank.rank(), i,
                entry.arguments[i].localBytes() / byteSize(type),
                rank.argument(i));
    }
  };
  // Two steps: the second must not see what the first left behind.
  TestRun run = runRanks(*artifact, mode, fill, {}, 2);
  for (const Status &status : run.statuses)
    ASSERT_OK(status);
  for (size_t i = 0; i < cases.size(); ++i) {
    const Port &port = entry.arguments[i];
    std::vector<std::string> inputs(ranks);
    for (int64_t p = 0; p < ranks; ++p) {
      inputs[p].resize(port.localBytes());
      fillInput(port.dtype, order[p], i,
                port.localBytes() / byteSize(port.dtype), inputs[p].data());
    }
    for (int64_t p = 0; p < ranks; ++p) {
      std::string wanted = reference(cases[i], inputs, p, sources);
      const char *got = run.result<char>(order[p], i);
      bool equal = isFloat(port.dtype)
                       ? sameFloats(port.dtype, wanted, got)
                       : std::memcmp(wanted.data(), got, wanted.size()) == 0;
      EXPECT_TRUE(equal) << cases[i].kind << " " << cases[i].dtype << " "
                         << cases[i].reduction << " outer " << cases[i].outer
                         << " block " << cases[i].block << " position " << p;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, CollectiveTest,
    testing::Combine(testing::Values(Mode::Threads, Mode::Processes,
                                     Mode::LimitedProcesses),
                     testing::Values(1, 2, 3, 4, 5, 8)),
    [](const auto &info) {
      return std::string(nameOf(std::get<0>(info.param))) +
             std::to_string(std::get<1>(info.param));
    });

} // namespace
