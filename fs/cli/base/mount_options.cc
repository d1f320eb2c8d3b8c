// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fs/cli/base/option_setters.h"
#include "fs/cli/base/option_tables.h"
#include "fs/cli/base/option_values.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

using model::Quote;
using model::Result;

// The number of the user or group with this name.
std::optional<uint32_t> FindUser(const std::string& name) {
  const passwd* user = ::getpwnam(name.c_str());
  return user != nullptr ? std::optional(user->pw_uid) : std::nullopt;
}

std::optional<uint32_t> FindGroup(const std::string& name) {
  const ::group* group = ::getgrnam(name.c_str());
  return group != nullptr ? std::optional(group->gr_gid) : std::nullopt;
}

// Parses the number of a user or group. The largest number means "none" to the
// system, and is refused.
Result<uint32_t> ParseId(std::string_view value,
                         std::optional<uint32_t> (*find)(const std::string&)) {
  const auto id = model::ParseNumber<uint32_t>(value);
  if (id && *id != std::numeric_limits<uint32_t>::max()) return *id;
  const auto named = find(std::string(value));
  return model::BadInput("{} is not the number of a user or group{}", Quote(value),
                         named ? fmt::format(" (did you mean {}?)", *named) : "");
}

Result<uint32_t> ParseUser(std::string_view value) { return ParseId(value, &FindUser); }
Result<uint32_t> ParseGroup(std::string_view value) { return ParseId(value, &FindGroup); }

Result<uint32_t> ParseUmask(std::string_view value) {
  const auto mask = model::ParseNumber<uint32_t>(value, 8);
  if (!mask || *mask > 0777) {
    return model::BadInput("{} is not an octal number from 0 to 0777", Quote(value));
  }
  return *mask;
}

constexpr std::array kOnlyMountOptions = {
    MountOption{"allow-other", "", "Let other users see the files",
                Switch<&MountOptions::allow_other>},
    MountOption{"uid", "UID", "Owner of all files (that of the source)",
                Set<&MountOptions::uid, ParseUser>},
    MountOption{"gid", "GID", "Group of all files (that of the source)",
                Set<&MountOptions::gid, ParseGroup>},
    MountOption{"umask", "MASK", "Permissions to remove, octal",
                Set<&MountOptions::umask, ParseUmask>},
    MountOption{"inode32", "", "Inode numbers of 32 bits, for old programs",
                Switch<&MountOptions::inode32>},
    MountOption{"foreground", "", "Stay in the foreground until unmounted",
                Switch<&MountOptions::foreground>},
};

}  // namespace

std::span<const MountOption> OnlyMountOptions() { return kOnlyMountOptions; }

}  // namespace ndlfs::fs
