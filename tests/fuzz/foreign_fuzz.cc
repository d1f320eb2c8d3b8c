// SPDX-License-Identifier: MIT
//
// A header of another program and a file of data beside it. The input is
//
//   a byte that chooses the format, the header up to a byte 0xFF, the data
//
// or, for formats with both in one file, all of it.
#include <array>
#include <cstdint>
#include <string_view>

#include "backends/format/foreign/foreign.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/memory_source.h"

namespace ndlfs {
namespace {

const backends::OpenOptions kOptions = {.max_chunk_size = 1 << 16};

void Run(std::string_view input) {
  struct Kind {
    const backends::Format& format;
    const char* name;
  };
  static const std::array<Kind, 9> kinds = {{{backends::NrrdFormat(), "a.nrrd"},
                                             {backends::MetaImageFormat(), "a.mhd"},
                                             {backends::EnviFormat(), "a.hdr"},
                                             {backends::GradsFormat(), "a.ctl"},
                                             {backends::BovFormat(), "a.bov"},
                                             {backends::FitsFormat(), "a.fits"},
                                             {backends::NiftiFormat(), "a.nii"},
                                             {backends::NiftiFormat(), "a.hdr"},
                                             {backends::MitgcmFormat(), "a.meta"}}};
  if (input.empty()) return;
  const Kind& kind = kinds[static_cast<uint8_t>(input[0]) % kinds.size()];
  input.remove_prefix(1);
  const auto source = test::MemorySource::Make();
  source->Put(kind.name, input);
  const size_t end = std::min(input.find('\xff'), input.size());
  const std::string_view data = input.substr(std::min(end + 1, input.size()));
  if (end < input.size() && data.find('\xff') == std::string_view::npos) {
    source->Put(kind.name, input.substr(0, end));
  }
  for (const char* name : {"a.raw", "a", "a.img", "a.data", "b.raw"}) source->Put(name, data);
  const auto opened = kind.format.Open(source, kind.name, kOptions);
  if (opened) fuzz::HierarchyReader(**opened).Visit();
}

}  // namespace
}  // namespace ndlfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ndlfs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
