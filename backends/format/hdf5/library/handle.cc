// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/handle.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ndlfs::backends::hdf5 {
namespace {

struct Reasons {
  std::string outermost;
  std::string innermost;
  // A message of a version that this library does not know: a newer one has written the file.
  bool is_newer = false;
};

// Whether the library complains about a newer version; it uses such words all over its sources.
bool TellsOfNewer(std::string_view text) {
  constexpr std::string_view kPhrases[] = {"version number", "unknown version", "wrong version",
                                           "Unknown version"};
  return std::any_of(std::begin(kPhrases), std::end(kPhrases),
                     [&](std::string_view phrase) { return text.find(phrase) != text.npos; });
}

// "1.10.8", of the library that runs.
std::string VersionOfLibrary() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

// Called with the innermost first; must not throw through the library.
herr_t Collect(unsigned, const H5E_error2_t* entry, void* data) noexcept {
  try {
    auto& reasons = *static_cast<Reasons*>(data);
    const std::string text = entry->desc ? entry->desc : "";
    if (reasons.innermost.empty()) reasons.innermost = text;
    reasons.outermost = text;
    reasons.is_newer = reasons.is_newer || TellsOfNewer(text);
  } catch (...) {
    return -1;
  }
  return 0;
}

Reasons TakeReasons() {
  Reasons reasons;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, &Collect, &reasons);
  H5Eclear2(H5E_DEFAULT);
  return reasons;
}

}  // namespace

model::Mutex library_mutex;

std::string TakeInnermostReason() { return TakeReasons().innermost; }

model::Failure LibraryError(std::string_view what) {
  const Reasons reasons = TakeReasons();
  std::string reason = reasons.outermost;
  if (reasons.innermost != reason) reason += " (" + reasons.innermost + ")";
  if (reason.empty()) reason = "no reason given";
  if (reasons.is_newer) {
    return model::Unsupported(
        "{}: {}; HDF5 {} does not know this version of a message, which a newer HDF5 library "
        "writes: copy the file with `h5repack --high=v110`, or use a newer library",
        what, model::OneLine(reason), VersionOfLibrary());
  }
  return model::Failure(model::Error(model::ErrorCode::kCorrupt,
                                     std::string(what) + ": " + model::OneLine(reason)));
}

model::Result<Handle> Checked(hid_t id, std::string_view what) {
  if (id < 0) return LibraryError(what);
  return Handle(id);
}

model::Result<void> CheckStatus(herr_t status, std::string_view what) {
  if (status < 0) return LibraryError(what);
  return {};
}

}  // namespace ndlfs::backends::hdf5
