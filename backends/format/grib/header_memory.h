// SPDX-License-Identifier: MIT
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "backends/format/grib/field_header.h"
#include "backends/format/grib/sidecar.h"
#include "model/mutex.h"

namespace ndlfs::backends::grib {

// Samples of the headers of fields, by kind. The line of a field in a sidecar tells its kind.
class KindSamples {
 public:
  enum class Knowledge { kNone, kSample, kUnpredictable };
  Knowledge Find(std::string_view kind) const;

  // Learns from a header that was read. A kind is unpredictable from then on if its headers
  // differ in more than their lines say.
  void Learn(const SidecarLine& line, const FieldHeader& header);

  // The expected header of a field with this line; null if it is not known.
  std::shared_ptr<const FieldHeader> Predict(const SidecarLine& line) const;

  size_t size() const { return samples_.size(); }

 private:
  std::map<std::string, std::optional<FieldHeader>, std::less<>> samples_;
};

// Samples of files that were opened before, so that the next file of a forecast needs only its
// sidecar. Keeps those of the last few families of files. Thread-safe.
class HeaderMemory {
 public:
  // Samples of the files of a family; none if there are none.
  KindSamples Find(const std::string& family) const;
  void Keep(const std::string& family, KindSamples samples);

  // Call it if the sidecar of a file contradicts the file. Forgets all samples, because some
  // may come from that sidecar, and remembers the name of the file.
  void Distrust(const std::string& file);
  bool Trusts(const std::string& file) const;

 private:
  mutable model::Mutex mutex_;
  // The one that was kept last comes first.
  std::list<std::pair<std::string, std::shared_ptr<const KindSamples>>> families_
      GUARDED_BY(mutex_);
  std::set<std::string> distrusted_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::backends::grib
