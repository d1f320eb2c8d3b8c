// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/handle.h"

#include <fmt/format.h>

namespace ndlfs::backends::hdf5 {
namespace {

struct Reasons {
  std::string outermost;
  std::string innermost;
};

// Called with the innermost first; must not throw through the library.
herr_t Collect(unsigned, const H5E_error2_t* entry, void* data) noexcept {
  try {
    auto& reasons = *static_cast<Reasons*>(data);
    const std::string text = entry->desc ? entry->desc : "";
    if (reasons.innermost.empty()) reasons.innermost = text;
    reasons.outermost = text;
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

model::Failure LibraryError(std::string_view what) {
  const Reasons reasons = TakeReasons();
  std::string reason = reasons.outermost;
  if (reasons.innermost != reason) reason += " (" + reasons.innermost + ")";
  if (reason.empty()) reason = "no reason given";
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
