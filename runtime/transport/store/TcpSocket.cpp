//===- TcpSocket.cpp - connections between hosts --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TcpSocket.h"
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace tp::runtime;

namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Status resolve(const std::string &host, int port, int flags,
               Addresses &addresses) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo *found = nullptr;
  int error = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                          std::to_string(port).c_str(), &hints, &found);
  addresses = Addresses(found, freeaddrinfo);
  if (error == 0)
    return {};
  return systemError("cannot find the host '" + host +
                     "': " + gai_strerror(error));
}

Socket open(const addrinfo &address) {
  Socket socket(::socket(address.ai_family,
                         address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                         address.ai_protocol));
  int on = 1;
  if (socket.descriptor() >= 0)
    setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return socket;
}

/// 0, or the error of the last of the addresses.
int listenOn(const Addresses &addresses, Socket &listener) {
  int error = EADDRNOTAVAIL;
  for (addrinfo *a = addresses.get(); a; a = a->ai_next) {
    Socket socket = open(*a);
    int on = 1, off = 0, file = socket.descriptor();
    if (file >= 0) {
      setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
      if (a->ai_family == AF_INET6)
        setsockopt(file, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    if (file >= 0 && bind(file, a->ai_addr, a->ai_addrlen) == 0 &&
        listen(file, SOMAXCONN) == 0) {
      listener = std::move(socket);
      return 0;
    }
    error = errno;
  }
  return error;
}

} // namespace

std::string StoreAddress::text() const {
  bool colons = host.find(':') != std::string::npos;
  return "tcp://" + (colons ? "[" + host + "]" : host) + ":" +
         std::to_string(port);
}

std::optional<StoreAddress> StoreAddress::parse(std::string_view text) {
  constexpr std::string_view scheme = "tcp://";
  size_t colon = text.rfind(':');
  if (!text.starts_with(scheme) || colon < scheme.size() + 1)
    return std::nullopt;
  StoreAddress address;
  std::string_view host = text.substr(scheme.size(), colon - scheme.size());
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string_view::npos)
    return std::nullopt;
  address.host = host;
  std::string_view digits = text.substr(colon + 1);
  auto [end, error] = std::from_chars(
      digits.data(), digits.data() + digits.size(), address.port);
  constexpr int largest = 65535;
  if (error != std::errc() || end != digits.data() + digits.size() ||
      address.port < 1 || address.port > largest || address.host.empty())
    return std::nullopt;
  return address;
}

Socket::~Socket() {
  if (file >= 0)
    close(file);
}

Status tp::runtime::listenAt(const StoreAddress &address, Socket &listener) {
  Addresses addresses(nullptr, freeaddrinfo);
  int error = EADDRNOTAVAIL;
  Status status = resolve(address.host, address.port, 0, addresses);
  if (status.ok())
    error = listenOn(addresses, listener);
  if (status.ok() && error == EADDRNOTAVAIL) {
    status = resolve("", address.port, AI_PASSIVE, addresses);
    if (status.ok())
      error = listenOn(addresses, listener);
  }
  if (status.ok() && error != 0)
    status = systemError(std::strerror(error));
  return status;
}

Status tp::runtime::connectTo(const StoreAddress &address, double seconds,
                              Socket &socket) {
  Addresses addresses(nullptr, freeaddrinfo);
  Status status = resolve(address.host, address.port, 0, addresses);
  for (addrinfo *a = addresses.get(); a; a = a->ai_next) {
    Socket made = open(*a);
    int error = 0;
    socklen_t size = sizeof(error);
    if (connect(made.descriptor(), a->ai_addr, a->ai_addrlen) != 0) {
      error = errno;
      pollfd wait = {made.descriptor(), POLLOUT, 0};
      if (error == EINPROGRESS)
        error = poll(&wait, 1, int(seconds * 1000)) == 1 ? 0 : ETIMEDOUT;
      if (error == 0)
        getsockopt(made.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0) {
      socket = std::move(made);
      return {};
    }
    status = systemError(std::strerror(error));
  }
  return status;
}

Socket tp::runtime::acceptFrom(const Socket &listener) {
  Socket socket(accept4(listener.descriptor(), nullptr, nullptr,
                        SOCK_NONBLOCK | SOCK_CLOEXEC));
  int on = 1;
  if (socket.descriptor() >= 0)
    setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return socket;
}

std::string tp::runtime::peerOf(const Socket &socket) {
  sockaddr_storage address;
  socklen_t size = sizeof(address);
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getpeername(socket.descriptor(), reinterpret_cast<sockaddr *>(&address),
                  &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr *>(&address), size, host,
                  sizeof(host), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "an unknown address";
  return std::string(host) + ":" + port;
}
