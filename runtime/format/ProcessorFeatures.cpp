//===- ProcessorFeatures.cpp - what a processor can execute ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Processor.h"
#include <algorithm>
#include <cstdint>
#include <vector>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace tp::runtime;

namespace {

enum Register { EAX, EBX, ECX, EDX };

/// What the operating system has to save for a feature's registers.
enum class State { None, AVX, AVX512 };

/// Features that have a bit each in one register that cpuid returns.
struct Row {
  struct {
    uint32_t leaf, subleaf;
    Register name;
  } place;
  State state;
  struct Bit {
    uint8_t position;
    std::string_view name;
  };
  std::vector<Bit> bits;
};

constexpr uint32_t extended = 0x80000001;

/// What a code generator may use.
const Row rows[] = {
    {{1, 0, EDX},
     State::None,
     {{8, "cx8"}, {15, "cmov"}, {23, "mmx"}, {25, "sse"}, {26, "sse2"}}},
    {{1, 0, ECX},
     State::None,
     {{0, "sse3"},
      {1, "pclmul"},
      {9, "ssse3"},
      {13, "cx16"},
      {19, "sse4.1"},
      {20, "sse4.2"},
      {20, "crc32"},
      {22, "movbe"},
      {23, "popcnt"}}},
    {{1, 0, ECX}, State::AVX, {{12, "fma"}, {28, "avx"}, {29, "f16c"}}},
    {{extended, 0, ECX},
     State::None,
     {{0, "sahf"}, {5, "lzcnt"}, {6, "sse4a"}, {8, "prfchw"}, {21, "tbm"}}},
    {{extended, 0, ECX}, State::AVX, {{11, "xop"}, {16, "fma4"}}},
    {{7, 0, EBX}, State::None, {{3, "bmi"}, {8, "bmi2"}, {19, "adx"}}},
    {{7, 0, EBX}, State::AVX, {{5, "avx2"}}},
    {{7, 0, EBX},
     State::AVX512,
     {{16, "avx512f"},
      {17, "avx512dq"},
      {21, "avx512ifma"},
      {28, "avx512cd"},
      {30, "avx512bw"},
      {31, "avx512vl"}}},
    {{7, 0, ECX},
     State::AVX512,
     {{1, "avx512vbmi"},
      {6, "avx512vbmi2"},
      {11, "avx512vnni"},
      {12, "avx512bitalg"},
      {14, "avx512vpopcntdq"}}},
    {{7, 0, ECX}, State::None, {{8, "gfni"}}},
    {{7, 0, ECX}, State::AVX, {{10, "vpclmulqdq"}}},
    {{7, 0, EDX},
     State::AVX512,
     {{8, "avx512vp2intersect"}, {23, "avx512fp16"}}},
    {{7, 1, EAX},
     State::None,
     {{3, "raoint"}, {7, "cmpccxadd"}, {31, "movrs"}}},
    {{7, 1, EAX}, State::AVX, {{4, "avxvnni"}, {23, "avxifma"}}},
    {{7, 1, EAX}, State::AVX512, {{5, "avx512bf16"}}},
    {{7, 1, EDX},
     State::AVX,
     {{4, "avxvnniint8"}, {5, "avxneconvert"}, {10, "avxvnniint16"}}},
    {{7, 1, EDX},
     State::None,
     {{21, "egpr"},
      {21, "push2pop2"},
      {21, "ppx"},
      {21, "ndd"},
      {21, "ccmp"},
      {21, "nf"},
      {21, "cf"},
      {21, "zu"}}},
};

/// A version of AVX10, which the lowest byte of a register of its leaf counts.
struct Avx10 {
  uint8_t version;
  std::string_view name;
};
constexpr Avx10 avx10[] = {{1, "avx10.1"}, {2, "avx10.2"}};

/// What no code generator uses by itself: words.
constexpr std::string_view never =
    " 64bit aes amx-avx512 amx-bf16 amx-complex amx-fp16 amx-fp8 amx-int8 "
    "amx-movrs amx-tf32 amx-tile amx-transpose cldemote clflushopt clwb "
    "clzero enqcmd fsgsbase fxsr hreset invpcid kl lwp movdir64b movdiri "
    "mwaitx pconfig pku prefetchi ptwrite rdpid rdpru rdrnd rdseed rtm "
    "serialize sgx sha sha512 shstk sm3 sm4 tsxldtrk uintr usermsr vaes "
    "waitpkg wbnoinvd widekl xsave xsavec xsaveopt xsaves ";

bool isNeverUsed(std::string_view name) {
  return name.find(' ') == name.npos &&
         never.find(" " + std::string(name) + " ") != never.npos;
}

/// The levels of the architecture, best first, and what each adds to the next.
struct Level {
  const char *name;
  std::vector<std::string_view> adds;
};
const Level levels[] = {
    {"x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
    {"x86-64-v3",
     {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}},
    {"x86-64-v2",
     {"crc32", "cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}},
    {"x86-64", {"cmov", "cx8", "mmx", "sse", "sse2"}},
};

const char *bestLevel(const Processor &processor) {
  const char *best = "x86-64";
  for (size_t i = std::size(levels); i-- > 0;) {
    for (std::string_view feature : levels[i].adds)
      if (!processor.features.contains(feature))
        return best;
    best = levels[i].name;
  }
  return best;
}

std::string architectureOf(const std::string &triple) {
  return triple.substr(0, triple.find('-'));
}

#if defined(__x86_64__)
/// Zeros for a leaf that the processor does not have.
void readLeaf(uint32_t leaf, uint32_t subleaf, uint32_t (&registers)[4]) {
  std::fill_n(registers, 4, 0);
  uint32_t found[4];
  if (subleaf > 0 && (!__get_cpuid_count(leaf, 0, &found[EAX], &found[EBX],
                                         &found[ECX], &found[EDX]) ||
                      found[EAX] < subleaf))
    return;
  if (__get_cpuid_count(leaf, subleaf, &found[EAX], &found[EBX], &found[ECX],
                        &found[EDX]))
    std::copy_n(found, 4, registers);
}

bool isSaved(State state) {
  uint32_t registers[4];
  readLeaf(1, 0, registers);
  constexpr uint32_t osxsave = 1u << 27, avx = 1u << 28;
  uint32_t enabled = 0, high = 0;
  if (registers[ECX] & osxsave)
    __asm__ volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
  auto has = [&](uint32_t mask) { return (enabled & mask) == mask; };
  switch (state) {
  case State::None:
    return true;
  case State::AVX:
    return (registers[ECX] & avx) && has(0x6);
  case State::AVX512:
    return (registers[ECX] & avx) && has(0xe6);
  }
  return false;
}
#endif

} // namespace

std::optional<FeatureUse> tp::runtime::featureUse(std::string_view name) {
  auto isCalled = [&](const auto &one) { return one.name == name; };
  for (const Row &row : rows)
    if (std::any_of(row.bits.begin(), row.bits.end(), isCalled))
      return FeatureUse::Code;
  if (std::any_of(std::begin(avx10), std::end(avx10), isCalled))
    return FeatureUse::Code;
  if (isNeverUsed(name))
    return FeatureUse::Never;
  return std::nullopt;
}

Processor Processor::current() {
  Processor found;
#if defined(__x86_64__)
  found.architecture = "x86_64";
  uint32_t registers[4];
  for (const Row &row : rows) {
    readLeaf(row.place.leaf, row.place.subleaf, registers);
    for (const Row::Bit &bit : row.bits)
      if (registers[row.place.name] >> bit.position & 1 && isSaved(row.state))
        found.features.emplace(bit.name);
  }
  readLeaf(0x24, 0, registers);
  for (const Avx10 &level : avx10)
    if ((registers[EBX] & 0xff) >= level.version && isSaved(State::AVX512))
      found.features.emplace(level.name);
#elif defined(__aarch64__)
  found.architecture = "aarch64";
#endif
  return found;
}

Status tp::runtime::checkProcessor(const CodeTarget &target,
                                   const Processor &processor) {
  std::string madeFor =
      "compiled for " + (target.cpu.empty() ? target.triple : target.cpu);
  std::string architecture = architectureOf(target.triple);
  if (!processor.architecture.empty() && architecture != processor.architecture)
    return unsupported(madeFor + " (" + target.triple +
                       "); this processor is of architecture " +
                       processor.architecture +
                       "; compile with a tp-compile of this architecture");
  if (architecture != "x86_64")
    return {};
  std::string advice =
      std::string("compile with --target-cpu=") + bestLevel(processor);
  std::string missing;
  for (const std::string &feature : target.features) {
    std::optional<FeatureUse> use = featureUse(feature);
    if (!use)
      return unsupported(
          madeFor + "; this runtime does not know the feature '" + feature +
          "' that the code may use; " + advice + " or use a newer runtime");
    if (*use == FeatureUse::Code && !processor.features.contains(feature))
      missing += (missing.empty() ? "" : ", ") + feature;
  }
  if (missing.empty())
    return {};
  return unsupported(madeFor + "; this processor lacks " + missing + "; " +
                     advice);
}
