// SPDX-License-Identifier: MIT
#include "backends/format/grib/header_memory.h"

#include <algorithm>

namespace ndlfs::backends::grib {

KindSamples::Knowledge KindSamples::Find(std::string_view kind) const {
  const auto found = samples_.find(kind);
  if (found == samples_.end()) return Knowledge::kNone;
  return found->second ? Knowledge::kSample : Knowledge::kUnpredictable;
}

void KindSamples::Learn(const SidecarLine& line, const FieldHeader& header) {
  const auto [entry, is_new] = samples_.try_emplace(line.kind, header);
  if (!is_new && !entry->second) return;
  const auto predicted = Predict(line);
  if (!predicted || !DifferenceOf(*predicted, header).empty()) entry->second.reset();
}

std::shared_ptr<const FieldHeader> KindSamples::Predict(const SidecarLine& line) const {
  const auto found = samples_.find(line.kind);
  if (found == samples_.end() || !found->second) return nullptr;
  auto product = PredictProduct(found->second->product, line);
  if (!product) return nullptr;
  auto header = std::make_shared<FieldHeader>(*found->second);
  header->product = *std::move(product);
  return header;
}

KindSamples HeaderMemory::Find(const std::string& family) const {
  std::shared_ptr<const KindSamples> found;
  {
    const model::MutexLock lock(mutex_);
    const auto entry =
        std::ranges::find(families_, family, [](const auto& f) { return f.first; });
    if (entry != families_.end()) found = entry->second;
  }
  return found ? *found : KindSamples();
}

void HeaderMemory::Keep(const std::string& family, KindSamples samples) {
  constexpr size_t kMostFamilies = 8, kMostKinds = 4'000;
  if (samples.size() > kMostKinds) return;
  auto kept = std::make_shared<const KindSamples>(std::move(samples));
  const model::MutexLock lock(mutex_);
  families_.remove_if([&](const auto& known) { return known.first == family; });
  families_.emplace_front(family, std::move(kept));
  if (families_.size() > kMostFamilies) families_.pop_back();
}

void HeaderMemory::Distrust(const std::string& file) {
  constexpr size_t kMostFiles = 10'000;
  const model::MutexLock lock(mutex_);
  families_.clear();
  if (distrusted_.size() < kMostFiles) distrusted_.insert(file);
}

bool HeaderMemory::Trusts(const std::string& file) const {
  const model::MutexLock lock(mutex_);
  return !distrusted_.contains(file);
}

}  // namespace ndlfs::backends::grib
