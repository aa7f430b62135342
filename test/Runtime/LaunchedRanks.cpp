//===- LaunchedRanks.cpp - ranks as a launcher starts them ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchedRanks.h"
#include <arpa/inet.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace tp::test;

static sockaddr_in loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int tp::test::listenAnywhere(int &port) {
  int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(file, reinterpret_cast<sockaddr *>(&address), size), 0);
  EXPECT_EQ(listen(file, 8), 0);
  getsockname(file, reinterpret_cast<sockaddr *>(&address), &size);
  port = ntohs(address.sin_port);
  return file;
}

int tp::test::connectToPort(int port) {
  sockaddr_in address = loopback(port);
  for (int round = 0; round < 500; ++round) {
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(file, reinterpret_cast<sockaddr *>(&address),
                sizeof(address)) == 0)
      return file;
    close(file);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return -1;
}

LaunchedRanks::LaunchedRanks(CudaRun &folder, int64_t ranks,
                             PerRank environment)
    : folder(folder), ranks(ranks), environment(std::move(environment)) {
  close(listenAnywhere(freePort));
  if (!this->environment)
    this->environment = [ranks](int64_t rank) {
      return "RANK=" + std::to_string(rank) +
             " WORLD_SIZE=" + std::to_string(ranks);
    };
}

std::string LaunchedRanks::store() const {
  return " --store=tcp://127.0.0.1:" + std::to_string(freePort) + " ";
}

std::vector<CudaOutcome> LaunchedRanks::run(const PerRank &arguments) {
  std::vector<CudaOutcome> outcomes(ranks);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (std::string words = arguments(rank); words != "-")
      threads.emplace_back([this, rank, words, &outcomes] {
        outcomes[rank] =
            folder.run(words, environment(rank), std::to_string(rank));
      });
  for (std::thread &thread : threads)
    thread.join();
  return outcomes;
}
