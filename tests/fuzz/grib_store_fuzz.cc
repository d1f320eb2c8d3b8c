// SPDX-License-Identifier: MIT
//
// Any bytes as a GRIB file: messages are found, described and grouped, and some are decoded.
// What is behind the last 0xFE is a file beside it that says where messages are, and what they
// are about. A message at the beginning also becomes a question about its name.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include "backends/format/grib/grib.h"
#include "backends/format/grib/header_check.h"
#include "backends/format/grib/header_memory.h"
#include "backends/format/grib/local_names.h"
#include "backends/format/grib/plan.h"
#include "backends/format/grib/sidecar.h"
#include "backends/format/grib/sidecar_index.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/memory_source.h"

namespace ndlfs::backends::grib {
namespace {

void CheckHeaders(const std::shared_ptr<const Store>& store, const Plan& plan) {
  for (const auto& [level, steps] : plan.levels) {
    for (const auto& [step, group] : steps) {
      for (const auto& [name, planned] : group.arrays) {
        const auto* array = std::get_if<PlannedArray>(&planned);
        if (array == nullptr) continue;
        const HeaderCheck check(store, array->fields, nullptr);
        for (size_t i = 0; i < array->fields.size(); ++i) (void)check.Check(i);
      }
    }
  }
}

// Twice, because the second file knows what the first one had.
void FuzzSidecar(std::string_view file, std::string_view text) {
  const Sidecar sidecar = ReadSidecar(text);
  const auto source = test::MemorySource::Make();
  source->MakeLooksRequests();
  source->Put("a.grib", file);
  const std::shared_ptr<const Store> store = source->OpenFile("a.grib");
  HeaderMemory memory;
  for (int turn = 0; turn < 2; ++turn) {
    auto index = IndexBySidecar(*store, file.size(), sidecar, "folder", memory);
    if (index && *index) CheckHeaders(store, MakePlan(**std::move(index)));
  }
}

void FuzzQuestions(std::string_view file) {
  const auto message = ParseGribMessage(AsBytes(file));
  if (!message) return;
  for (const GribField& field : message->fields) (void)MakeNameQuestion(*message, field);
}

}  // namespace
}  // namespace ndlfs::backends::grib

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t end = bytes.rfind('\xFE');
  ndlfs::backends::grib::FuzzSidecar(bytes.substr(0, end), bytes.substr(end + 1));
  ndlfs::backends::grib::FuzzQuestions(bytes);
  const auto source = ndlfs::test::MemorySource::Make();
  source->Put("a.grib", bytes);
  const auto hierarchy = ndlfs::backends::GribFormat().Open(
      source, "a.grib", {.max_chunk_size = uint64_t{1} << 20});
  if (hierarchy) ndlfs::fuzz::HierarchyReader(**hierarchy).Visit();
  return 0;
}
