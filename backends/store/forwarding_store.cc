// SPDX-License-Identifier: MIT
#include "backends/store/forwarding_store.h"

namespace ndlfs::backends {

model::Result<std::optional<ReadResult>> ForwardingStore::DoRead(std::string_view key,
                                                                 const ReadOptions& options,
                                                                 const Reserve& reserve) const {
  NDLFS_TRY(const ReadOptions wanted, ToInner(key, options));
  NDLFS_TRY(auto result, store_->Read(key, wanted, reserve));
  NDLFS_RETURN_IF_ERROR(CheckFound(key, result.has_value()));
  return result;
}

std::vector<model::Result<std::optional<Value>>> ForwardingStore::ReadMany(
    std::span<const ReadRequest> requests) const {
  std::vector<model::Result<std::optional<Value>>> answers;
  std::vector<ReadRequest> wanted;
  std::vector<size_t> places;  // in `answers`
  for (const ReadRequest& request : requests) {
    const auto options = ToInner(request.key, request.options);
    if (options) {
      places.push_back(answers.size());
      wanted.push_back({request.key, *options, request.limit});
      answers.emplace_back(std::nullopt);
    } else {
      answers.push_back(model::Propagate(options.error()));
    }
  }
  auto found = store_->ReadMany(wanted);
  for (size_t i = 0; i < found.size(); ++i) {
    auto& answer = answers[places[i]];
    answer = std::move(found[i]);
    if (!answer) continue;
    const auto checked = CheckFound(wanted[i].key, answer->has_value());
    if (!checked) answer = model::Propagate(checked.error());
  }
  return answers;
}

}  // namespace ndlfs::backends
