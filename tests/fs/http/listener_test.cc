// SPDX-License-Identifier: MIT
#include "fs/http/listener.h"

#include <gmock/gmock.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <fstream>

namespace ndlfs::fs {
namespace {

int OptionOf(int socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  EXPECT_EQ(::getsockopt(socket, level, name, &value, &size), 0);
  return value;
}

class ListenerTest : public testing::Test {
 protected:
  void SetUp() override {
    sockaddr_in address = {};
    socklen_t size = sizeof(address);
    const auto at = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::getsockname(listener_.socket.get(), at, &size), 0);
    client_ = backends::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(client_.get(), at, size), 0);
    pollfd come = {.fd = listener_.socket.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&come, 1, -1), 1);
    accepted_ = backends::UniqueFd(::accept(listener_.socket.get(), nullptr, nullptr));
    ASSERT_TRUE(accepted_);
  }

  Listener listener_ = ListenAt("127.0.0.1:0").value();
  backends::UniqueFd client_;
  backends::UniqueFd accepted_;
};

// Of a client that vanishes, no packet tells: the system asks for it. One that does not
// acknowledge what was sent has vanished, too.
TEST_F(ListenerTest, ConnectionsOfClientsThatVanishEnd) {
  EXPECT_EQ(OptionOf(accepted_.get(), SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(OptionOf(accepted_.get(), IPPROTO_TCP, TCP_KEEPIDLE), 20);
  EXPECT_EQ(OptionOf(accepted_.get(), IPPROTO_TCP, TCP_KEEPINTVL), 5);
  EXPECT_EQ(OptionOf(accepted_.get(), IPPROTO_TCP, TCP_KEEPCNT), 3);
  EXPECT_EQ(OptionOf(accepted_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT), 35'000);
}

TEST_F(ListenerTest, SystemKeepsLittleForClientsThatDoNotRead) {
  const std::string piece(1 << 16, 'x');
  while (::send(accepted_.get(), piece.data(), piece.size(), MSG_DONTWAIT) > 0) {
  }
  int not_sent = -1;
  ASSERT_EQ(::ioctl(accepted_.get(), SIOCOUTQNSD, &not_sent), 0);
  EXPECT_GT(not_sent, 0);
  EXPECT_LE(not_sent, 256 << 10);
}

// Of a socket that listens, Linux tells the length of its queue as tcpi_sacked: as long as the
// system allows, since whoever finds it full tries again after a second.
TEST_F(ListenerTest, QueueOfNewConnectionsIsAsLongAsTheSystemAllows) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  ASSERT_EQ(::getsockopt(listener_.socket.get(), IPPROTO_TCP, TCP_INFO, &info, &size), 0);
  unsigned most = 0;
  std::ifstream("/proc/sys/net/core/somaxconn") >> most;
  EXPECT_EQ(info.tcpi_sacked, std::min(most, 16'384U));
}

}  // namespace
}  // namespace ndlfs::fs
