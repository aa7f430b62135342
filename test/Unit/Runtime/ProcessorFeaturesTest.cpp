//===- ProcessorFeaturesTest.cpp - the runtime's table against LLVM -------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loader knows what a processor can execute without LLVM. LLVM is the
// reference: a version that finds a new feature fails here.
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Processor.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "gtest/gtest.h"

using namespace tp::runtime;

namespace {

bool isX86() {
  return llvm::Triple(llvm::sys::getDefaultTargetTriple()).isX86();
}

/// What code for a CPU may use.
std::set<std::string> featuresOf(llvm::StringRef cpu) {
  llvm::InitializeNativeTarget();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string problem;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, problem);
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(triple, cpu, ""));
  std::set<std::string> found;
  for (const auto &feature : subtarget->getEnabledProcessorFeatures())
    if (featureUse(feature.Key) == FeatureUse::Code)
      found.insert(feature.Key);
  return found;
}

TEST(ProcessorFeaturesTest, EveryFeatureOfLLVMIsKnown) {
  if (!isX86())
    GTEST_SKIP();
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    EXPECT_TRUE(featureUse(feature.getKey().str()))
        << feature.getKey().str()
        << ": expected a row in ProcessorFeatures.cpp";
}

TEST(ProcessorFeaturesTest, ThisProcessorIsSeenAsLLVMSeesIt) {
  if (!isX86())
    GTEST_SKIP();
  std::set<std::string, std::less<>> expected;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    if (feature.getValue() &&
        featureUse(feature.getKey().str()) == FeatureUse::Code)
      expected.insert(feature.getKey().str());
  EXPECT_EQ(Processor::current().features, expected);
}

/// What the loader says to compile for runs where it says so.
TEST(ProcessorFeaturesTest, LevelsAreThoseOfLLVM) {
  if (!isX86())
    GTEST_SKIP();
  for (std::string level : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    std::set<std::string> features = featuresOf(level);
    Processor processor{"x86_64", {features.begin(), features.end()}};
    CodeTarget foreign{"x86_64-linux-gnu", "other", {"raoint"}};
    EXPECT_EQ(checkProcessor(foreign, processor).message(),
              "compiled for other; this processor lacks raoint; compile with "
              "--target-cpu=" +
                  level);
    // Without any of them it is none of this level.
    for (const std::string &feature : features) {
      Processor less = processor;
      less.features.erase(feature);
      if (level != "x86-64")
        EXPECT_FALSE(checkProcessor(foreign, less).message().ends_with(level))
            << level << " without " << feature;
    }
  }
}

} // namespace
