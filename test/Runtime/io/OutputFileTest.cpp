//===- OutputFileTest.cpp - what is written where -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/OutputFile.h"
#include "TestProgram.h"
#include <fcntl.h>
#include <filesystem>
#include <future>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// A folder with files of all kinds.
class OutputFileTest : public testing::Test {
protected:
  OutputFileTest() {
    folder.write("old", "old");
    mkdir(at("inner").c_str(), 0755);
    mkdir(at("inner/deep").c_str(), 0755);
    link("old", "link");
    link("link", "second");
    link("new", "dangling");
    link("inner/deep", "elsewhere");
    link("../old", "inner/up");
    link("round", "round");
    link("no/such", "lost");
    EXPECT_EQ(mkfifo(at("fifo").c_str(), 0644), 0);
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {AF_UNIX, {}};
    at("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(
        bind(server, reinterpret_cast<sockaddr *>(&address), sizeof(address)),
        0);
    close(server);
  }

  std::string at(const std::string &name) const { return folder.file(name); }
  void link(const char *target, const char *name) const {
    EXPECT_EQ(symlink(target, at(name).c_str()), 0);
  }
  mode_t type(const std::string &name) const {
    struct stat info;
    return lstat(at(name).c_str(), &info) == 0 ? info.st_mode & S_IFMT : 0;
  }
  /// A device with the numbers of one of Linux's own; false where this user
  /// cannot make one.
  bool makeDevice(const char *name, int type, int major, int minor) const {
    return mknod(at(name).c_str(), type | 0666, makedev(major, minor)) == 0;
  }
  void expectWritten(const std::string &path, const std::string &file) const {
    EXPECT_OK(writeOutputFile(at(path), "text"));
    EXPECT_EQ(readFile(at(file)), "text") << path;
    EXPECT_EQ(type(file), mode_t(S_IFREG)) << path;
  }

  TemporaryFolder folder;
};

TEST_F(OutputFileTest, RegularFilesAreReplaced) {
  struct stat before, after;
  ASSERT_EQ(stat(at("old").c_str(), &before), 0);
  expectWritten("old", "old");
  ASSERT_EQ(stat(at("old").c_str(), &after), 0);
  EXPECT_NE(before.st_ino, after.st_ino);
  expectWritten("fresh", "fresh");
  expectWritten("inner/../fresh", "fresh");
}

TEST_F(OutputFileTest, LinksAreFollowed) {
  for (const char *name : {"link", "second", "inner/up"}) {
    folder.write("old", "old");
    expectWritten(name, "old");
    EXPECT_EQ(type(name), mode_t(S_IFLNK)) << name;
  }
  expectWritten("dangling", "new");
  EXPECT_EQ(type("dangling"), mode_t(S_IFLNK));
  expectWritten("elsewhere/one", "inner/deep/one");
  // As the system reads it: up from the folder behind the link.
  expectWritten("elsewhere/../two", "inner/two");
  expectError(writeOutputFile(at("round"), "x"),
              "round: cannot write: Too many levels of symbolic links");
  expectError(writeOutputFile(at("lost"), "x"),
              "lost: cannot write: No such file or directory");
}

TEST_F(OutputFileTest, WhatIsNoFileIsRefused) {
  expectError(writeOutputFile(at("inner"), "x"),
              "inner: is a folder, expected a file to write");
  expectError(writeOutputFile(at("elsewhere"), "x"), "is a folder");
  expectError(writeOutputFile(at("inner/"), "x"), "is a folder");
  expectError(writeOutputFile(at("fresh/"), "x"), "fresh/: cannot write");
  expectError(writeOutputFile(at("socket"), "x"),
              "socket: is a socket, expected a file to write");
  expectError(writeOutputFile(at("no/such"), "x"),
              "cannot write: No such file or directory");
  expectError(writeOutputFile(at("old/x"), "x"),
              "cannot write: Not a directory");
  expectError(writeOutputFile(at(std::string(300, 'n')), "x"),
              "cannot write: File name too long");
  if (makeDevice("disk", S_IFBLK, 7, 250)) {
    expectError(writeOutputFile(at("disk"), "x"),
                "disk: is a block device, expected a file to write");
    EXPECT_EQ(type("disk"), mode_t(S_IFBLK));
  }
  EXPECT_EQ(type("socket"), mode_t(S_IFSOCK));
  EXPECT_EQ(readFile(at("old")), "old");
}

TEST_F(OutputFileTest, DevicesAreWrittenInPlace) {
  if (!makeDevice("null", S_IFCHR, 1, 3) || !makeDevice("full", S_IFCHR, 1, 7))
    GTEST_SKIP() << "this user cannot make devices";
  if (open(at("null").c_str(), O_WRONLY) < 0)
    GTEST_SKIP() << "devices cannot be opened here";
  link("null", "nothing");
  for (const char *name : {"null", "nothing"})
    EXPECT_OK(writeOutputFile(at(name), "text"));
  expectError(writeOutputFile(at("full"), "text"),
              "full: cannot write: No space left on device");
  EXPECT_EQ(type("null"), mode_t(S_IFCHR));
  EXPECT_EQ(type("nothing"), mode_t(S_IFLNK));
  EXPECT_EQ(type("full"), mode_t(S_IFCHR));
}

TEST_F(OutputFileTest, FifosAreWrittenInPlace) {
  link("fifo", "pipe");
  int early = open(at("fifo").c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_OK(writeOutputFile(at("pipe"), "text"));
  ASSERT_EQ(type("fifo"), mode_t(S_IFIFO));
  char begin[8] = {};
  EXPECT_EQ(read(early, begin, sizeof(begin)), 4);
  close(early);
  // More than a pipe holds.
  std::string text(1 << 20, 'x');
  for (const char *name : {"fifo", "pipe"}) {
    auto reader =
        std::async(std::launch::async, [&] { return readFile(at("fifo")); });
    EXPECT_OK(writeOutputFile(at(name), text));
    EXPECT_EQ(reader.get(), text) << name;
  }
  EXPECT_EQ(type("fifo"), mode_t(S_IFIFO));
}

TEST_F(OutputFileTest, OwnDescriptorsAreWrittenInPlace) {
  auto nameOf = [](int descriptor) {
    return "/proc/self/fd/" + std::to_string(descriptor);
  };
  int file = open(at("old").c_str(), O_WRONLY | O_APPEND);
  EXPECT_OK(writeOutputFile(nameOf(file), "er"));
  EXPECT_OK(writeOutputFile("/dev/fd/" + std::to_string(file), "!"));
  EXPECT_EQ(readFile(at("old")), "older!");
  ASSERT_EQ(symlink(nameOf(file).c_str(), at("mine").c_str()), 0);
  EXPECT_OK(writeOutputFile(at("mine"), "!"));
  EXPECT_EQ(readFile(at("old")), "older!!");
  close(file);
  expectError(writeOutputFile(nameOf(file), "x"),
              "cannot write: Bad file descriptor");

  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  EXPECT_OK(writeOutputFile(nameOf(ends[0]), "text"));
  char text[8] = {};
  // What was written is there already; nothing is waited for.
  EXPECT_EQ(recv(ends[1], text, sizeof(text), MSG_DONTWAIT), 4);
  close(ends[1]);
  // An error, no signal.
  expectError(writeOutputFile(nameOf(ends[0]), "x"),
              "cannot write: Broken pipe");
  close(ends[0]);

  int readOnly = open(at("old").c_str(), O_RDONLY);
  expectError(writeOutputFile(nameOf(readOnly), "x"),
              "cannot write: it is open for reading only");
  close(readOnly);
}

/// As a user without privileges.
TEST_F(OutputFileTest, FoldersThatCannotBeWritten) {
  chmod(at("inner").c_str(), 0555);
  chmod(folder.path.c_str(), 0755);
  pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0)
      _exit(2);
    Status fresh = writeOutputFile(at("inner/fresh"), "x");
    Status early = checkOutputs({at("inner/fresh")}, {});
    bool good = fresh.message() ==
                    at("inner/fresh") + ": cannot write: Permission denied" &&
                early.message() == fresh.message();
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  chmod(at("inner").c_str(), 0755);
  EXPECT_EQ(status, 0);
}

TEST_F(OutputFileTest, OneFileUnderTwoNames) {
  auto expectTaken = [&](std::vector<std::string> written,
                         std::vector<std::string> read) {
    for (auto *list : {&written, &read})
      for (std::string &name : *list)
        name = at(name);
    expectError(checkOutputs(written, read),
                written.back() + ": it is read or written too, expected "
                                 "another file to write");
  };
  expectTaken({"old"}, {"old"});
  expectTaken({"link"}, {"old"});
  expectTaken({"old"}, {"second"});
  expectTaken({"inner/../old"}, {"old"});
  expectTaken({"inner/up"}, {"old"});
  expectTaken({"fresh", "fresh"}, {});
  expectTaken({"fresh", "inner/../fresh"}, {});
  expectTaken({"new", "dangling"}, {});
  expectTaken({"inner/deep/a", "elsewhere/a"}, {});
  expectTaken({"fresh"}, {"fresh"});
  expectTaken({"fifo", "fifo"}, {});
  EXPECT_OK(checkOutputs({at("fresh"), at("inner/fresh"), at("dangling")},
                         {at("old"), at("absent")}));
  EXPECT_OK(checkOutputs({"/dev/null", "/dev/null"}, {}));
  expectError(checkOutputs({at("inner")}, {}), "is a folder");
  expectError(checkOutputs({at("no/such")}, {}), "No such file or directory");
  // Nothing was made.
  EXPECT_EQ(type("fresh"), mode_t(0));
  EXPECT_EQ(type("new"), mode_t(0));
}

/// Until the last part is there the name is the old file's.
TEST_F(OutputFileTest, ADurableFileIsWholeOrTheOldOne) {
  const std::string parts[] = {"new ", "", "file"};
  for (const char *name : {"old", "fresh", "link"}) {
    std::string before =
        name == std::string("fresh") ? "" : readFile(at("old"));
    auto partAt = [&](size_t part, std::string_view &bytes) {
      if (name == std::string("fresh"))
        EXPECT_EQ(type("fresh"), mode_t(0));
      else
        EXPECT_EQ(readFile(at("old")), before);
      bytes = parts[part];
      return Status();
    };
    EXPECT_OK(writeDurableFile(at(name), 3, partAt));
    EXPECT_EQ(readFile(at(name)), "new file");
    folder.write("old", "old");
  }
  EXPECT_EQ(type("link"), mode_t(S_IFLNK));
  size_t files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder.path))
    files += entry.path().string().find(".tmp") != std::string::npos;
  EXPECT_EQ(files, 0u);
  auto none = [](size_t, std::string_view &) { return Status(); };
  expectError(writeDurableFile(at("fifo"), 1, none),
              "expected a file that is replaced as a whole");
  expectError(writeDurableFile(at("inner"), 1, none), "is a folder");
  auto failing = [](size_t part, std::string_view &bytes) {
    bytes = "half";
    return part == 0 ? Status() : Status(Code::System, "no second part");
  };
  expectError(writeDurableFile(at("old"), 2, failing), "no second part");
  EXPECT_EQ(readFile(at("old")), "old");
}

} // namespace
