//===- ArtifactFileTest.cpp - the container, whole and damaged ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpenedFile.h"
#include <cstring>
#include <sys/stat.h>

using namespace tp::test;
using namespace tp::runtime;

namespace {

const std::string manifest = "{\"a\": 1}";
const std::string code(100, 'c');
const std::string constants(64, 'k');

std::string sample() {
  ArtifactWriter writer;
  writer.addSection("manifest", manifest);
  writer.addSection("code", code);
  writer.addSection("constants", constants);
  std::string file;
  EXPECT_OK(writer.serialize(file));
  return file;
}

template <typename T> void put(std::string &file, size_t offset, T value) {
  std::memcpy(file.data() + offset, &value, sizeof(value));
}

using ArtifactFileTest = OpenedFileTest<ArtifactFile>;

TEST_F(ArtifactFileTest, RoundTrip) {
  ASSERT_OK(open(sample()));
  EXPECT_EQ(reader.section("manifest"), manifest);
  EXPECT_EQ(reader.section("code"), code);
  EXPECT_EQ(reader.section("constants"), constants);
  EXPECT_EQ(reader.section("other"), std::nullopt);
  for (const char *name : {"manifest", "code", "constants"})
    EXPECT_EQ(uintptr_t(reader.section(name)->data()) % 64, 0u);
}

TEST_F(ArtifactFileTest, EmptySectionsAndNone) {
  ArtifactWriter writer;
  std::string file;
  ASSERT_OK(writer.serialize(file));
  ASSERT_OK(open(file));
  EXPECT_EQ(reader.section("code"), std::nullopt);
  writer.addSection("code", "");
  writer.addSection("sixteen-bytes-ab", "x");
  ASSERT_OK(writer.serialize(file));
  ASSERT_OK(open(file));
  EXPECT_EQ(reader.section("code"), "");
  EXPECT_EQ(reader.section("sixteen-bytes-ab"), "x");
}

TEST_F(ArtifactFileTest, BadSectionNames) {
  for (std::string name : {std::string(), std::string("seventeen-bytes-x"),
                           std::string("a\0b", 3)}) {
    ArtifactWriter writer;
    writer.addSection(name, "");
    std::string file;
    expectError(writer.serialize(file), "a section name has 1 to 16 bytes");
  }
  ArtifactWriter writer;
  writer.addSection("code", "a");
  writer.addSection("code", "b");
  std::string file;
  expectError(writer.serialize(file), "two sections are called 'code'");
}

TEST_F(ArtifactFileTest, EveryTruncationIsAnError) {
  std::string whole = sample();
  for (size_t length = 0; length < whole.size(); ++length) {
    Status status = open(whole.substr(0, length));
    ASSERT_FALSE(status.ok()) << length;
    ASSERT_EQ(status.message().find(folder.file("file") + ": "), 0u);
    ASSERT_NE(status.message().find(length < 8 ? "not a tp artifact"
                                               : "truncated artifact"),
              std::string::npos)
        << length << ": " << status.message();
  }
  expectError(open(whole + "x"), "damaged artifact: its header states");
}

TEST_F(ArtifactFileTest, EveryFlippedBitIsAnErrorOrPadding) {
  std::string whole = sample();
  for (size_t i = 0; i < whole.size(); ++i)
    for (int bit : {0, 3, 7}) {
      std::string damaged = whole;
      damaged[i] ^= 1 << bit;
      if (!open(damaged).ok())
        continue;
      // Not an error: then either a section has another name, or the byte
      // lies between the sections.
      bool renamed = !reader.section("manifest") || !reader.section("code") ||
                     !reader.section("constants");
      ASSERT_TRUE(renamed || (reader.section("manifest") == manifest &&
                              reader.section("code") == code &&
                              reader.section("constants") == constants))
          << "byte " << i;
    }
}

TEST_F(ArtifactFileTest, ContradictionsInTheTable) {
  auto damaged = [&](size_t offset, auto value) {
    std::string file = sample();
    put(file, offset, value);
    return open(file);
  };
  // Entries start at byte 24 and have 40 bytes: name 16, offset, size, sum.
  expectError(damaged(8, uint32_t(2)),
              "artifact version 2, expected 1: a newer tp wrote it");
  expectError(damaged(12, uint32_t(1000)), "no room for a table");
  expectError(damaged(12, uint32_t(-1)), "no room for a table");
  expectError(damaged(24, uint64_t(0)), "has no name");
  expectError(damaged(40, uint64_t(193)), "not aligned");
  expectError(damaged(40, uint64_t(0)), "does not lie inside the file");
  expectError(damaged(40, uint64_t(-64)), "does not lie inside the file");
  expectError(damaged(48, uint64_t(-1)), "does not lie inside the file");
  expectError(damaged(56, uint64_t(5)), "checksum");
  expectError(damaged(24 + 40 + 16, uint64_t(192)), "overlaps section");
  std::string twice = sample();
  std::memcpy(twice.data() + 64, twice.data() + 24, 16);
  expectError(open(twice), "occurs twice");
}

TEST_F(ArtifactFileTest, NotAFile) {
  expectError(ArtifactFile::open(folder.file("absent"), reader),
              "absent: cannot open: No such file or directory");
  expectError(ArtifactFile::open(folder.path, reader), "not a regular file");
}

TEST_F(ArtifactFileTest, WritesAllOrNothing) {
  ArtifactWriter writer;
  writer.addSection("code", code);
  expectError(writer.write(folder.file("no/such/folder.tp")), "cannot write");
  std::string path = folder.write("old.tp", "old");
  writer.addSection("code", code);
  expectError(writer.write(path), "two sections");
  EXPECT_EQ(readFile(path), "old");
  EXPECT_EQ(
      system(("test -z \"$(ls " + folder.path + " | grep tmp)\"").c_str()), 0);
}

} // namespace
