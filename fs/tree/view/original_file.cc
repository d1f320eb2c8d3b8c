// SPDX-License-Identifier: MIT
#include "fs/tree/view/original_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "backends/format/array_source.h"
#include "fs/tree/mount_context.h"

namespace ndlfs::fs {
namespace {

using backends::UniqueFd;

constexpr std::string_view kNpyFormat = "NPY";

// Where the elements of the NPY file lie that `store` is; nullopt if it is none, or if they
// have to be converted.
std::optional<backends::ContiguousRange> ElementsOfNpy(const MountedStore& store,
                                                       const Entity& entity) {
  if (store.is_directory() || !entity.is_array() || entity.node()->source == nullptr ||
      store.format() != kNpyFormat) {
    return std::nullopt;
  }
  auto elements = entity.node()->source->contiguous();
  const bool is_as_stored = elements && elements->key.empty() && !elements->exact_size &&
                            elements->stored == entity.node()->source->spec().dtype;
  return is_as_stored ? std::move(elements) : std::nullopt;
}

}  // namespace

UniqueFd OpenOriginal(const MountContext& context, const MountedStore& store,
                      const Entity& entity, const View& view, uint64_t size) {
  if (context.local == nullptr) return {};
  const auto elements = ElementsOfNpy(store, entity);
  if (!elements || elements->offset > size) return {};
  struct ::stat status;
  auto file = context.local->OpenFound(store.path(), O_NOFOLLOW, &status);
  // Elements of other arrays may follow.
  if (!file || !S_ISREG(status.st_mode) || static_cast<uint64_t>(status.st_size) != size) {
    return {};
  }
  // The store is of the version that was loaded, so that this one is, too.
  const auto header = elements->store->Get(
      "", elements->offset,
      {.range = {0, elements->offset}, .if_match = backends::GenerationOf(status)});
  if (!header || !*header) return {};
  const auto stored = (*header)->bytes.span();
  backends::Bytes shown(elements->offset);
  const auto count = view.Read(0, shown.span());
  const bool is_same =
      count && *count == shown.size() && std::ranges::equal(stored, shown.span());
  return is_same ? *std::move(file) : UniqueFd();
}

}  // namespace ndlfs::fs
