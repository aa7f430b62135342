//===- NpyTest.cpp - array files right and wrong --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include "tp/Runtime/Array.h"
#include <cstring>

using namespace tp::test;
using namespace tp::runtime;

namespace {

class NpyTest : public testing::Test {
protected:
  Status read(const std::string &bytes, std::optional<DataType> raw = {}) {
    return readNpy(folder.write("a.npy", bytes), raw, array);
  }
  TemporaryFolder folder;
  Array array;
};

/// A file of the given version around a header and data.
std::string file(int version, std::string header, const std::string &data) {
  std::string bytes = "\x93NUMPY";
  bytes += {char(version), '\0'};
  header += '\n';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes += char(header.size() >> (8 * i));
  return bytes + header + data;
}

std::string header(const std::string &descr, const std::string &shape,
                   const char *fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran +
         ", 'shape': " + shape + ", }";
}

TEST_F(NpyTest, RoundTripOfEveryTypeAndShape) {
  for (int type = 0; type < numDataTypes; ++type)
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{}, {3}, {2, 3}, {2, 0, 3}, {1, 2, 3, 4}}) {
      char *bytes = nullptr;
      Array written = makeArray(DataType(type), shape, bytes);
      for (int64_t i = 0; i < written.bytes(); ++i)
        bytes[i] = char(i * 7 + type);
      std::string path = folder.file("b.npy");
      ASSERT_OK(writeNpy(path, written));
      EXPECT_EQ(readFile(path).find('\n') % 64, 63u);
      DataType raw = isFloat8(DataType(type)) ? DataType(type) : DataType::BF16;
      ASSERT_OK(readNpy(path, raw, array));
      DataType wanted =
          DataType(type) == DataType::Index ? DataType::I64 : DataType(type);
      EXPECT_EQ(array.dtype, wanted);
      EXPECT_EQ(array.shape, shape);
      EXPECT_EQ(std::string(array.data, array.bytes()),
                std::string(bytes, written.bytes()));
    }
}

TEST_F(NpyTest, VersionsAndSpacing) {
  const float values[2] = {1.5f, -2};
  std::string data(reinterpret_cast<const char *>(values), 8);
  for (int version : {1, 2, 3}) {
    ASSERT_OK(read(file(version, header("<f4", "(2,)"), data)));
    EXPECT_EQ(elementAsDouble(array.dtype, array.data, 1), -2);
  }
  ASSERT_OK(read(file(
      1, "{ \"shape\" :( 2 , ),'descr':\"<f4\" ,'fortran_order': False}   ",
      data)));
  ASSERT_OK(read(file(1, header("<f4", "()"), data.substr(0, 4))));
  EXPECT_TRUE(array.shape.empty());
}

/// Version 1 counts a header's bytes up to 65535, the later ones in 32 bits.
TEST_F(NpyTest, LongHeaders) {
  std::string data = {1, 2, 3};
  for (int version : {2, 3})
    for (size_t padding : {65535, 70000, 0x1000000}) {
      std::string text = header("|i1", "(3,)") + std::string(padding, ' ');
      ASSERT_OK(read(file(version, text, data)));
      EXPECT_EQ(describeType(array), "i8[3]");
      EXPECT_EQ(std::string(array.data, array.bytes()), data);
    }
}

TEST_F(NpyTest, FortranOrder) {
  std::string data = {1, 2, 3, 4, 5, 6};
  ASSERT_OK(read(file(1, header("|i1", "(2, 3)", "True"), data)));
  Array dense = rowMajor(array);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      EXPECT_EQ(dense.data[i * 3 + j], data[j * 2 + i]);
}

/// The file says that it is in C's order, whatever the array's strides.
TEST_F(NpyTest, WritesATransposedArrayInOrder) {
  Array dense;
  ASSERT_OK(read(file(1, header("|i1", "(2, 3)", "True"), {1, 4, 2, 5, 3, 6})));
  ASSERT_EQ(array.strides, (std::vector<int64_t>{1, 2}));
  ASSERT_OK(writeNpy(folder.file("dense.npy"), array));
  ASSERT_OK(readNpy(folder.file("dense.npy"), {}, dense));
  EXPECT_EQ(describeType(dense), "i8[2, 3]");
  EXPECT_EQ(dense.strides, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(std::string(dense.data, dense.bytes()),
            (std::string{1, 2, 3, 4, 5, 6}));
}

TEST_F(NpyTest, RawElementsNeedAType) {
  std::string bytes = file(1, header("|V2", "(2,)"), std::string(4, 'x'));
  expectError(read(bytes), "raw elements '|V2': give their type with --dtype");
  expectError(read(bytes, DataType::F32),
              "raw elements '|V2', expected '|V4' for --dtype=f32");
  ASSERT_OK(read(bytes, DataType::BF16));
  EXPECT_EQ(array.dtype, DataType::BF16);
}

TEST_F(NpyTest, EveryTruncationIsAnError) {
  std::string whole = file(1, header("<f4", "(2,)"), std::string(8, 'x'));
  ASSERT_OK(read(whole));
  for (size_t length = 0; length < whole.size(); ++length)
    expectError(read(whole.substr(0, length)),
                length < 6 ? "not a .npy file" : "truncated .npy file");
  expectError(read(whole + "x"),
              "damaged .npy file: f32[2] has 8 bytes, the file 9");
}

TEST_F(NpyTest, Malformed) {
  std::string data(8, 'x');
  const std::pair<std::string, const char *> headers[] = {
      {header(">f4", "(2,)"), "big-endian elements '>f4'"},
      {header("<U4", "(2,)"), "elements of type '<U4', expected one of"},
      {header("<c32", "(1,)"), "elements of type '<c32'"},
      {header("<f4", "(2"), "malformed .npy header"},
      {header("<f4", "2"), "malformed .npy header"},
      {header("<f4", "(-2,)"), "malformed .npy header"},
      {header("<f4", "(2,) (3,)"), "malformed .npy header"},
      {header("<f4", "(99999999999999999999,)"), "malformed .npy header"},
      {header("<f4", "(9223372036854775807,)"), "is too large"},
      {header("<f4", "(4294967296, 4294967296)"), "is too large"},
      {header("<f4", "(0, 4294967296, 4294967296)"), "is too large"},
      {header("<f4", "(2,)", "0"), "malformed .npy header"},
      {"{'descr': '<f4', 'fortran_order': False}", "malformed .npy header"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
       "malformed .npy header"},
      {header("<f4", "(2,)") + "x", "malformed .npy header"},
      {"{'a': 1}", "malformed .npy header"},
      {"", "malformed .npy header"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
       "malformed .npy header"}};
  for (const auto &[text, message] : headers)
    expectError(read(file(1, text, data)), message);
  expectError(read(file(4, header("<f4", "(2,)"), data)), ".npy version 4");
  std::string dims = "(";
  for (int i = 0; i < 65; ++i)
    dims += "1, ";
  expectError(read(file(1, header("|i1", dims + ")"), "x")),
              "expected at most 64 dimensions, got 65");
}

TEST(HalfTest, EveryHalfSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    bool isNan = (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff);
    _Float16 half;
    uint16_t word = uint16_t(bits);
    std::memcpy(&half, &word, 2);
    float wide = halfToFloat(word);
    if (isNan) {
      EXPECT_NE(wide, wide);
      EXPECT_NE(halfToFloat(floatToHalf(wide)), halfToFloat(floatToHalf(wide)));
      continue;
    }
    ASSERT_EQ(wide, float(half)) << bits;
    ASSERT_EQ(floatToHalf(wide), word) << bits;
  }
}

TEST(HalfTest, RoundsAsTheCompilerDoes) {
  uint32_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525 + 1013904223;
    // Around the range of f16, subnormals and overflow included.
    uint32_t exponent = 100 + (state >> 8) % 50;
    float value = std::bit_cast<float>((state & 0x807fffff) | exponent << 23);
    _Float16 half = _Float16(value);
    uint16_t wanted;
    std::memcpy(&wanted, &half, 2);
    ASSERT_EQ(floatToHalf(value), wanted) << value;
  }
  EXPECT_EQ(floatToHalf(65519.99f), 0x7bff);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(floatToBfloat(1.00390625f), 0x3f80) << "ties to even";
  EXPECT_EQ(floatToBfloat(1.01171875f), 0x3f82);
}

} // namespace
