//===- ChangeWhileRead.c - a file that changes once it is mapped ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loaded before a tool (LD_PRELOAD). As soon as the tool has mapped the file
// that TP_CHANGE_FILE names, TP_CHANGE happens to it: shrink, grow, write.
//
//===----------------------------------------------------------------------===//

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Waits until a change gets another time than the last one: file systems keep
   times by the tick of this clock. */
static void awaitTick(const struct stat *file) {
  struct timespec now, moment = {0, 1000000};
  do {
    nanosleep(&moment, NULL);
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
  } while (now.tv_sec < file->st_mtim.tv_sec ||
           (now.tv_sec == file->st_mtim.tv_sec &&
            now.tv_nsec <= file->st_mtim.tv_nsec));
}

static void change(const char *path, const char *how,
                   const struct stat *before) {
  awaitTick(before);
  int file = open(path, O_WRONLY);
  if (file < 0)
    return;
  if (strcmp(how, "shrink") == 0)
    (void)!ftruncate(file, 0);
  else if (strcmp(how, "grow") == 0)
    (void)!ftruncate(file, 1 << 20);
  else
    (void)!pwrite(file, "x", 1, lseek(file, 0, SEEK_END) - 1);
  close(file);
}

void *mmap(void *address, size_t length, int protection, int flags,
           int descriptor, off_t offset) {
  void *(*real)(void *, size_t, int, int, int, off_t);
  *(void **)&real = dlsym(RTLD_NEXT, "mmap");
  void *memory =
      real(address, length, protection, flags, descriptor, offset);
  const char *path = getenv("TP_CHANGE_FILE"), *how = getenv("TP_CHANGE");
  struct stat mapped, named;
  if (descriptor >= 0 && path && how && memory != MAP_FAILED &&
      fstat(descriptor, &mapped) == 0 && stat(path, &named) == 0 &&
      mapped.st_ino == named.st_ino && mapped.st_dev == named.st_dev)
    change(path, how, &named);
  return memory;
}
