// SPDX-License-Identifier: MIT
//
// The value of --ref, and the names of folders in .versions/at. What is accepted has to mean
// the same when it is written again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "backends/format/icechunk/ref.h"

namespace ndlfs {
namespace {

using backends::icechunk::Ref;

bool AreSame(const Ref& a, const Ref& b) {
  return a.kind == b.kind && a.name == b.name && a.at_us == b.at_us &&
         a.history_kind == b.history_kind && a.history_name == b.history_name;
}

void Run(std::string_view text) {
  const auto ref = backends::icechunk::ParseRef(text);
  if (!ref) return;
  const auto again = backends::icechunk::ParseRef(ref->ToOption());
  if (!again || !AreSame(*ref, *again) || ref->ToText().empty()) std::abort();
  (void)backends::icechunk::TimeText(static_cast<uint64_t>(ref->at_us));
}

}  // namespace
}  // namespace ndlfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ndlfs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
