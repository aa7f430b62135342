//===- SafeTensorsTest.cpp - weight files right and wrong -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/SafeTensors.h"
#include "OpenedFile.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tp::test;
using namespace tp::runtime;

namespace {

std::string file(const std::string &header, const std::string &data) {
  uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

json entry(const char *dtype, std::vector<int64_t> shape, int64_t begin,
           int64_t end) {
  return {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, end}}};
}

using SafeTensorsTest = OpenedFileTest<SafeTensors>;

TEST_F(SafeTensorsTest, ReadsTensors) {
  json header = {{"__metadata__", {{"format", "pt"}}},
                 {"b", entry("I16", {2, 2}, 4, 12)},
                 {"a", entry("F32", {}, 0, 4)},
                 {"empty", entry("F64", {0, 3}, 12, 12)}};
  std::string data = std::string("\0\0\x80\x3f", 4) + "abcdefgh";
  ASSERT_OK(open(file(header.dump() + "   ", data)));
  Array array;
  ASSERT_OK(reader.array("a", array));
  EXPECT_EQ(elementAsDouble(array.dtype, array.data, 0), 1);
  ASSERT_OK(reader.array("b", array));
  EXPECT_EQ(describeType(array), "i16[2, 2]");
  EXPECT_EQ(std::memcmp(array.data, "abcdefgh", 8), 0);
  ASSERT_OK(reader.array("empty", array));
  EXPECT_EQ(array.elements(), 0);
  expectError(reader.array("c", array), "no tensor 'c'");
}

TEST_F(SafeTensorsTest, EveryType) {
  const std::pair<const char *, DataType> types[] = {
      {"F64", DataType::F64},
      {"F32", DataType::F32},
      {"F16", DataType::F16},
      {"BF16", DataType::BF16},
      {"I64", DataType::I64},
      {"I32", DataType::I32},
      {"I16", DataType::I16},
      {"I8", DataType::I8},
      {"BOOL", DataType::I1},
      {"F8_E5M2", DataType::F8E5M2},
      {"F8_E4M3", DataType::F8E4M3FN},
      {"U64", DataType::U64},
      {"U32", DataType::U32},
      {"U16", DataType::U16},
      {"U8", DataType::U8}};
  for (const auto &[name, type] : types) {
    SCOPED_TRACE(name);
    int64_t bytes = 2 * byteSize(type);
    std::string data = std::string("abcdefghijklmnop").substr(0, bytes);
    ASSERT_OK(open(file(json{{"a", entry(name, {2}, 0, bytes)}}.dump(), data)));
    Array array;
    ASSERT_OK(reader.array("a", array));
    EXPECT_EQ(array.dtype, type);
    EXPECT_EQ(std::string(array.data, array.bytes()), data);
  }
}

TEST_F(SafeTensorsTest, WritesWhatItReads) {
  std::map<std::string, Array> written;
  for (int type = 0; type < numDataTypes; ++type) {
    if (!checkSafeTensor("a", DataType(type)).ok())
      continue;
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{}, {3}, {2, 0, 3}, {2, 3}}) {
      char *bytes = nullptr;
      Array array = makeArray(DataType(type), shape, bytes);
      for (int64_t i = 0; i < array.bytes(); ++i)
        bytes[i] = char(i * 7 + type);
      written[std::string(spelling(DataType(type))) + " \"" +
              describeType(array)] = array;
    }
  }
  // Of every type but the two that the format lacks.
  EXPECT_EQ(written.size(), size_t(numDataTypes - 2) * 4);
  Array transposed = written.at("i16 \"i16[2, 3]");
  transposed.shape = {3, 2};
  transposed.strides = {1, 3};
  written["transposed"] = transposed;
  std::string path = folder.file("file");
  ASSERT_OK(writeSafeTensors(path, written));
  ASSERT_OK(SafeTensors::open(path, reader));
  EXPECT_EQ(reader.entries().size(), written.size());
  for (const auto &[key, array] : written) {
    SCOPED_TRACE(key);
    Array again;
    ASSERT_OK(reader.array(key, again));
    EXPECT_EQ(again.dtype,
              array.dtype == DataType::Index ? DataType::I64 : array.dtype);
    EXPECT_EQ(again.shape, array.shape);
    EXPECT_EQ(std::string(again.data, again.bytes()),
              std::string(rowMajor(array).data, array.bytes()));
  }
  std::string bytes = readFile(path);
  EXPECT_EQ(uint8_t(bytes[0]) % 8, 0);
  char *unused = nullptr;
  Array lacking = makeArray(DataType::F8E5M2FNUZ, {1}, unused);
  expectError(writeSafeTensors(path, {{"a", lacking}}),
              "'a' is f8E5M2FNUZ, which no .safetensors file can hold");
  expectError(writeSafeTensors(path, {{"__metadata__", transposed}}),
              "'__metadata__' is no name of a tensor");
  EXPECT_EQ(readFile(path), bytes);
  ASSERT_OK(writeSafeTensors(path, {}));
  ASSERT_OK(SafeTensors::open(path, reader));
}

TEST_F(SafeTensorsTest, EveryTruncationIsAnError) {
  json header = {{"a", entry("F32", {2}, 0, 8)}};
  std::string whole = file(header.dump(), "12345678");
  ASSERT_OK(open(whole));
  for (size_t length = 0; length < whole.size(); ++length)
    expectError(open(whole.substr(0, length)), "truncated");
}

TEST_F(SafeTensorsTest, Malformed) {
  // Of one tensor.
  auto one = [](std::string shape, std::string offsets) {
    return R"({"a": {"dtype": "F32", "shape": )" + shape +
           R"(, "data_offsets": )" + offsets + "}}";
  };
  const std::pair<std::string, const char *> headers[] = {
      {"", "header: not valid JSON"},
      {"[]", "header: expected an object"},
      {"{\"a\": 1}", "tensor 'a': top level: expected an object"},
      {"{\"a\": {}}", "tensor 'a': dtype: missing"},
      {one("[2]", "[0]"), "expected two offsets"},
      {one("[-2]", "[0, 8]"), "shape[0]: expected an integer from 0"},
      {one("[2.0]", "[0, 8]"), "expected an integer"},
      {one("[3]", "[0, 8]"),
       "tensor 'a' of type F32 and 3 elements needs 12 bytes, has 8"},
      {one("[1]", "[0, 8]"),
       "tensor 'a' of type F32 and 1 elements needs 4 bytes, has 8"},
      {one("[2]", "[8, 0]"), "lies at bytes 8 to 0 of 8"},
      {one("[2]", "[4, 12]"),
       "lies at bytes 4 to 12 of 8: the file is truncated"},
      {one("[281474976710656, 281474976710656]", "[0, 8]"),
       "a shape that is too large"},
      {one("[1]", "[0, 4]"), "its tensors end at byte 4, its data at 8"},
      {one("[1]", "[4, 8]"), "bytes 0 to 4 belong to no tensor"},
      {R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
           "b": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})",
       "tensors 'a' and 'b' overlap"},
      {R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
           "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})",
       "the key 'a' stands twice"}};
  for (const auto &[header, message] : headers)
    expectError(open(file(header, "12345678")), message);
  // A type tp lacks is no mistake of the file, only of who asks for it.
  ASSERT_OK(
      open(file(json{{"a", entry("F8_E8M0", {8}, 0, 8)}}.dump(), "12345678")));
  Array array;
  expectError(reader.array("a", array), "has the type F8_E8M0");
  ASSERT_OK(
      open(file(json{{"a", entry("F8_E4M3", {8}, 0, 8)}}.dump(), "12345678")));
  ASSERT_OK(reader.array("a", array));
  EXPECT_EQ(array.dtype, DataType::F8E4M3FN);
}

/// Of a file that is larger than the limit of the address space a tensor after
/// the other is there.
TEST_F(SafeTensorsTest, LargerThanTheLimit) {
  constexpr int64_t count = 32, bytes = 32 << 20;
  json header;
  for (int64_t i = 0; i < count; ++i)
    header["t" + std::to_string(i)] =
        entry("I8", {bytes}, i * bytes, (i + 1) * bytes);
  std::string path = folder.write("large", file(header.dump(), ""));
  int64_t start = int64_t(std::filesystem::file_size(path));
  std::filesystem::resize_file(path, start + count * bytes);
  std::fstream(path, std::ios::in | std::ios::out)
      .seekp(start + count * bytes - 1)
      .put('x');
  pid_t child = fork();
  if (child == 0) {
    long long pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlim_t limit = pages * sysconf(_SC_PAGESIZE) + 8 * bytes;
    rlimit space = {limit, limit};
    setrlimit(RLIMIT_AS, &space);
    bool good = SafeTensors::open(path, reader).ok();
    Array array;
    for (int64_t i = 0; i < count && good; ++i) {
      good = reader.array("t" + std::to_string(i), array).ok();
      good = good && array.data[bytes - 1] == (i == count - 1 ? 'x' : '\0');
    }
    _exit(good ? 0 : 1);
  }
  int ended = 0;
  waitpid(child, &ended, 0);
  EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
}

class WeightFilesTest : public SafeTensorsTest {
protected:
  std::string one(const std::string &name, const std::string &key,
                  const std::string &bytes) {
    json header = {
        {key, entry("I8", {int64_t(bytes.size())}, 0, int64_t(bytes.size()))}};
    return folder.write(name, file(header.dump(), bytes));
  }
  WeightFiles files;
  ArraySource array;
  std::string place;
};

TEST_F(WeightFilesTest, SeveralFilesAndKeys) {
  std::string a = one("a.safetensors", "a", "12");
  std::string b = one("b.safetensors", "b", "345");
  ASSERT_OK(WeightFiles::open({a, b}, files));
  ASSERT_OK(files.find({"x", "b"}, array, place));
  EXPECT_EQ(describeType(array), "i8[3]");
  EXPECT_EQ(place, b + ": tensor 'b'");
  expectError(files.find({"x", "y"}, array, place),
              "no weight file has 'x' or 'y'; looked in " + a + ", " + b);
  ASSERT_OK(WeightFiles::open({}, files));
  expectError(files.find({"x"}, array, place), "'x': give --weights");
}

TEST_F(WeightFilesTest, TheSameKeyTwice) {
  std::string a = one("a.safetensors", "w", "12");
  std::string same = one("b.safetensors", "w", "12");
  std::string other = one("c.safetensors", "w", "13");
  ASSERT_OK(WeightFiles::open({a, same}, files));
  expectError(WeightFiles::open({a, other}, files),
              other + ": tensor 'w' differs from the one in " + a);
}

TEST_F(WeightFilesTest, TiedNames) {
  std::string a = one("a.safetensors", "head", "12");
  std::string same = one("b.safetensors", "embedding", "12");
  std::string other = one("c.safetensors", "embedding", "21");
  ASSERT_OK(WeightFiles::open({a, same}, files));
  ASSERT_OK(files.find({"head", "embedding"}, array, place));
  ASSERT_OK(WeightFiles::open({a, other}, files));
  expectError(files.find({"head", "embedding"}, array, place),
              "are one tied weight, but their contents differ");
}

TEST_F(WeightFilesTest, AFolderStandsForItsFile) {
  std::string path = folder.path;
  expectError(findWeightFile(path),
              path + ": the folder has none of 'model.safetensors.index.json', "
                     "'model.safetensors', 'weights.safetensors'");
  one("b.safetensors", "w", "12");
  one("a.safetensors", "w", "12");
  expectError(findWeightFile(path),
              "give its files one by one, such as " + folder.file("a.safe"));
  for (const char *name : {"weights.safetensors", "model.safetensors",
                           "model.safetensors.index.json"}) {
    std::string expected = folder.write(name, "");
    path = folder.path;
    ASSERT_OK(findWeightFile(path));
    EXPECT_EQ(path, expected);
  }
  ASSERT_OK(findWeightFile(path));
  EXPECT_EQ(path, folder.file("model.safetensors.index.json"));
}

TEST_F(WeightFilesTest, Index) {
  one("part-1.safetensors", "a", "12");
  one("part-2.safetensors", "b", "34");
  auto index = [&](const std::string &text) {
    return WeightFiles::open(
        {folder.write("model.safetensors.index.json", text)}, files);
  };
  ASSERT_OK(index(R"({"weight_map": {"a": "part-1.safetensors",
                                     "b": "part-2.safetensors"}})"));
  ASSERT_OK(files.find({"b"}, array, place));
  Array elements;
  ASSERT_OK(array.elements(elements));
  EXPECT_EQ(elements.data[0], '3');
  expectError(index("{}"), "weight_map: missing");
  expectError(index("{"), "not valid JSON");
  expectError(index(R"({"weight_map": {"a": 1}})"), "expected a string");
  expectError(index(R"({"weight_map": {"c": "part-1.safetensors"}})"),
              "key 'c' should be in 'part-1.safetensors', which does not");
  expectError(index(R"({"weight_map": {"a": "part-3.safetensors"}})"),
              "part-3.safetensors: cannot open");
  expectError(index(R"({"weight_map": {"a": "../part-1.safetensors"}})"),
              "is no name of a file in the same folder");
}

} // namespace
