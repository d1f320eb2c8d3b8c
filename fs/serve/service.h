// SPDX-License-Identifier: MIT
//
// Sends a service's messages to systemd, in the protocols that sd_notify(3) and
// sd_journal_sendv(3) describe; this does not need systemd's library.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/unique_fd.h"

namespace ndlfs::fs {

// Sends `state` ("READY=1") to the manager that $NOTIFY_SOCKET names. Does nothing if there is
// none.
void NotifyManager(const std::string& state);

// The journal of the system. Thread-safe.
class Journal {
 public:
  static constexpr const char* kSocket = "/run/systemd/journal/socket";

  using Fields = std::vector<std::pair<std::string, std::string>>;

  // nullopt if no journal listens at `socket`. `fields` go with every entry: names are in
  // capital letters.
  static std::optional<Journal> Open(Fields fields, const std::string& socket = kSocket);

  // False if the entry was not taken. `priority` is that of syslog(3).
  bool Send(int priority, std::string_view message) const;

 private:
  Journal(backends::UniqueFd fd, Fields fields)
      : fd_(std::move(fd)), fields_(std::move(fields)) {}
  backends::UniqueFd fd_;
  Fields fields_;
};

// Whether standard error leads to the journal, as systemd says in $JOURNAL_STREAM.
bool StandardErrorIsJournal();

}  // namespace ndlfs::fs
