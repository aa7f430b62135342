//===- LaunchedRanks.cpp - ranks as a launcher starts them ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchedRanks.h"
#include "Patience.h"
#include <arpa/inet.h>
#include <sys/socket.h>
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
  EXPECT_EQ(listen(file, SOMAXCONN), 0);
  timeval limit = {time_t(patience()), 0};
  setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  getsockname(file, reinterpret_cast<sockaddr *>(&address), &size);
  port = ntohs(address.sin_port);
  return file;
}

int tp::test::connectToPort(int port) {
  sockaddr_in address = loopback(port);
  int file = -1;
  bool connected = eventually([&] {
    file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(file, reinterpret_cast<sockaddr *>(&address),
                sizeof(address)) == 0)
      return true;
    close(file);
    return false;
  });
  EXPECT_TRUE(connected) << "nobody listens at port " << port;
  return connected ? file : -1;
}

ReservedPort::ReservedPort(int wanted)
    : file(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = loopback(wanted);
  socklen_t size = sizeof(address);
  if (bind(file, reinterpret_cast<sockaddr *>(&address), size) != 0)
    return;
  // A socket that is bound and does not listen keeps the port. Since it has
  // this option now, one with the option may still be bound to its number.
  int on = 1;
  setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  getsockname(file, reinterpret_cast<sockaddr *>(&address), &size);
  number = ntohs(address.sin_port);
}

ReservedPort::~ReservedPort() { close(file); }

LaunchedRanks::LaunchedRanks(CudaRun &folder, int64_t ranks,
                             PerRank environment)
    : folder(folder), ranks(ranks), environment(std::move(environment)) {
  EXPECT_NE(port(), 0);
  if (!this->environment)
    this->environment = [ranks](int64_t rank) {
      return "RANK=" + std::to_string(rank) +
             " WORLD_SIZE=" + std::to_string(ranks);
    };
}

std::string LaunchedRanks::store() const {
  return " --store=tcp://127.0.0.1:" + std::to_string(port()) + " ";
}

std::vector<CudaOutcome> LaunchedRanks::run(const PerRank &arguments) {
  std::vector<std::future<CudaOutcome>> running(ranks);
  std::vector<CudaOutcome> outcomes(ranks);
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (std::string words = arguments(rank); words != "-")
      running[rank] = start(rank, words);
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (running[rank].valid())
      outcomes[rank] = running[rank].get();
  return outcomes;
}

std::future<CudaOutcome> LaunchedRanks::start(int64_t process,
                                              const std::string &arguments) {
  return std::async(std::launch::async, [this, process, arguments] {
    return folder.run(arguments, environment(process), std::to_string(process));
  });
}
