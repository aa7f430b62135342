//===- ProcessorFeatures.cpp - what a processor can execute ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Processor.h"
#include <algorithm>
#include <cstdint>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace tp::runtime;

namespace {

enum Register { EAX, EBX, ECX, EDX };

/// What the operating system has to save for a feature's registers.
enum class State { None, AVX, AVX512 };

/// A feature is there if the `bits` wide number at `shift` of a register that
/// cpuid returns is `least` or more.
struct Row {
  const char *name;
  uint32_t leaf, subleaf;
  Register place;
  uint8_t shift;
  State state = State::None;
  uint8_t bits = 1;
  uint8_t least = 1;
};

constexpr uint32_t extended = 0x80000001;

/// What a code generator may use.
constexpr Row rows[] = {
    {"cx8", 1, 0, EDX, 8},
    {"cmov", 1, 0, EDX, 15},
    {"mmx", 1, 0, EDX, 23},
    {"sse", 1, 0, EDX, 25},
    {"sse2", 1, 0, EDX, 26},
    {"sse3", 1, 0, ECX, 0},
    {"pclmul", 1, 0, ECX, 1},
    {"ssse3", 1, 0, ECX, 9},
    {"fma", 1, 0, ECX, 12, State::AVX},
    {"cx16", 1, 0, ECX, 13},
    {"sse4.1", 1, 0, ECX, 19},
    {"sse4.2", 1, 0, ECX, 20},
    {"crc32", 1, 0, ECX, 20},
    {"movbe", 1, 0, ECX, 22},
    {"popcnt", 1, 0, ECX, 23},
    {"avx", 1, 0, ECX, 28, State::AVX},
    {"f16c", 1, 0, ECX, 29, State::AVX},
    {"sahf", extended, 0, ECX, 0},
    {"lzcnt", extended, 0, ECX, 5},
    {"sse4a", extended, 0, ECX, 6},
    {"prfchw", extended, 0, ECX, 8},
    {"xop", extended, 0, ECX, 11, State::AVX},
    {"fma4", extended, 0, ECX, 16, State::AVX},
    {"tbm", extended, 0, ECX, 21},
    {"bmi", 7, 0, EBX, 3},
    {"avx2", 7, 0, EBX, 5, State::AVX},
    {"bmi2", 7, 0, EBX, 8},
    {"avx512f", 7, 0, EBX, 16, State::AVX512},
    {"avx512dq", 7, 0, EBX, 17, State::AVX512},
    {"adx", 7, 0, EBX, 19},
    {"avx512ifma", 7, 0, EBX, 21, State::AVX512},
    {"avx512cd", 7, 0, EBX, 28, State::AVX512},
    {"avx512bw", 7, 0, EBX, 30, State::AVX512},
    {"avx512vl", 7, 0, EBX, 31, State::AVX512},
    {"avx512vbmi", 7, 0, ECX, 1, State::AVX512},
    {"avx512vbmi2", 7, 0, ECX, 6, State::AVX512},
    {"gfni", 7, 0, ECX, 8},
    {"vpclmulqdq", 7, 0, ECX, 10, State::AVX},
    {"avx512vnni", 7, 0, ECX, 11, State::AVX512},
    {"avx512bitalg", 7, 0, ECX, 12, State::AVX512},
    {"avx512vpopcntdq", 7, 0, ECX, 14, State::AVX512},
    {"avx512vp2intersect", 7, 0, EDX, 8, State::AVX512},
    {"avx512fp16", 7, 0, EDX, 23, State::AVX512},
    {"raoint", 7, 1, EAX, 3},
    {"avxvnni", 7, 1, EAX, 4, State::AVX},
    {"avx512bf16", 7, 1, EAX, 5, State::AVX512},
    {"cmpccxadd", 7, 1, EAX, 7},
    {"avxifma", 7, 1, EAX, 23, State::AVX},
    {"movrs", 7, 1, EAX, 31},
    {"avxvnniint8", 7, 1, EDX, 4, State::AVX},
    {"avxneconvert", 7, 1, EDX, 5, State::AVX},
    {"avxvnniint16", 7, 1, EDX, 10, State::AVX},
    {"egpr", 7, 1, EDX, 21},
    {"push2pop2", 7, 1, EDX, 21},
    {"ppx", 7, 1, EDX, 21},
    {"ndd", 7, 1, EDX, 21},
    {"ccmp", 7, 1, EDX, 21},
    {"nf", 7, 1, EDX, 21},
    {"cf", 7, 1, EDX, 21},
    {"zu", 7, 1, EDX, 21},
    {"avx10.1", 0x24, 0, EBX, 0, State::AVX512, 8, 1},
    {"avx10.2", 0x24, 0, EBX, 0, State::AVX512, 8, 2},
};

/// What no code generator uses by itself.
constexpr std::string_view never[] = {
    "64bit",       "aes",        "amx-avx512", "amx-bf16",
    "amx-complex", "amx-fp16",   "amx-fp8",    "amx-int8",
    "amx-movrs",   "amx-tf32",   "amx-tile",   "amx-transpose",
    "cldemote",    "clflushopt", "clwb",       "clzero",
    "enqcmd",      "fsgsbase",   "fxsr",       "hreset",
    "invpcid",     "kl",         "lwp",        "movdir64b",
    "movdiri",     "mwaitx",     "pconfig",    "pku",
    "prefetchi",   "ptwrite",    "rdpid",      "rdpru",
    "rdrnd",       "rdseed",     "rtm",        "serialize",
    "sgx",         "sha",        "sha512",     "shstk",
    "sm3",         "sm4",        "tsxldtrk",   "uintr",
    "usermsr",     "vaes",       "waitpkg",    "wbnoinvd",
    "widekl",      "xsave",      "xsavec",     "xsaveopt",
    "xsaves",
};

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
  for (const Row &row : rows)
    if (row.name == name)
      return FeatureUse::Code;
  if (std::find(std::begin(never), std::end(never), name) != std::end(never))
    return FeatureUse::Never;
  return std::nullopt;
}

Processor Processor::current() {
  Processor found;
#if defined(__x86_64__)
  found.architecture = "x86_64";
  for (const Row &row : rows) {
    uint32_t registers[4];
    readLeaf(row.leaf, row.subleaf, registers);
    uint32_t value =
        registers[row.place] >> row.shift & ((uint32_t(1) << row.bits) - 1);
    if (value >= row.least && isSaved(row.state))
      found.features.insert(row.name);
  }
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
