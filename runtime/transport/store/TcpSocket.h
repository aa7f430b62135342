//===- TcpSocket.h - connections between hosts ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_TRANSPORT_STORE_TCPSOCKET_H
#define TP_RUNTIME_TRANSPORT_STORE_TCPSOCKET_H

#include "tp/Runtime/Store.h"
#include <utility>

namespace tp::runtime {

/// A descriptor, closed when it goes; -1 for none.
class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : file(descriptor) {}
  Socket(Socket &&other) noexcept : file(std::exchange(other.file, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(file, other.file);
    return *this;
  }
  ~Socket();

  int descriptor() const { return file; }

private:
  int file = -1;
};

/// Listens on the address, or, where it is not one of this host's own (a
/// cluster may give it another one outside), on all of the host's.
Status listenAt(const StoreAddress &address, Socket &listener);
/// One attempt, for at most `seconds`.
Status connectTo(const StoreAddress &address, double seconds, Socket &socket);
/// Takes a connection that waits; none: a socket without descriptor.
Socket acceptFrom(const Socket &listener);

/// "10.0.0.2:41242"
std::string peerOf(const Socket &socket);

} // namespace tp::runtime

#endif // TP_RUNTIME_TRANSPORT_STORE_TCPSOCKET_H
