// SPDX-License-Identifier: MIT
//
// References that a reference file generates ("gen"), many from one rule:
//
//   {"key": "a/{{i}}", "url": "{{u}}_{{i}}", "offset": "{{(i + 1) * 1000}}",
//    "length": "1000", "dimensions": {"i": {"start": 0, "stop": 5, "step": 1}}}
//
// A dimension is a range or a list of integers. A rule makes a reference for
// each combination of their values; the last dimension varies fastest. Only
// keys are made when the file is opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/base/json.h"
#include "backends/store/reference/template.h"
#include "model/error.h"

namespace ndlfs::backends::kerchunk {

// The target of a generated reference.
struct GeneratedReference {
  std::string url;
  // A part of the file at `url`, in bytes; if not set, the whole file.
  struct Part {
    uint64_t offset;
    uint64_t length;
  };
  std::optional<Part> part;
};

class Generator {
 public:
  // `rules` is the list at "gen". kLimit if the rules make more than a million
  // references.
  static model::Result<Generator> Parse(const Json& rules);

  // The number of references of all rules together. Those of one rule follow
  // each other.
  uint64_t count() const { return count_; }
  // The key of reference `number`, which is less than count(). Subtracts the
  // bytes that it evaluates from `budget` (see Render()).
  model::Result<std::string> Key(uint64_t number, const Templates& templates,
                                 uint64_t& budget) const;
  // The target of reference `number`, which is less than count().
  model::Result<GeneratedReference> Reference(uint64_t number,
                                              const Templates& templates) const;
  // About how many bytes of memory the rules take.
  uint64_t held_bytes() const;

 private:
  struct Dimension {
    std::string name;
    int64_t start = 0;
    int64_t step = 1;
    uint64_t count = 0;
    std::vector<int64_t> listed;  // instead of a range, if not empty
  };
  struct Rule {
    std::string key;
    std::string url;
    std::optional<std::string> offset;
    std::optional<std::string> length;
    std::vector<Dimension> dimensions;
    uint64_t first = 0;  // number of its first reference
    uint64_t count = 1;
    uint64_t variables_size = 0;  // bytes that its variables take, about
  };

  static model::Result<Rule> ParseRule(const Json& json);
  static model::Result<void> ParseDimensions(const Json& json, Rule& rule);
  static model::Result<Dimension> ParseDimension(const Json& json);
  const Rule& RuleOf(uint64_t number) const;
  static Variables VariablesOf(const Rule& rule, uint64_t number);

  std::vector<Rule> rules_;
  uint64_t count_ = 0;
};

}  // namespace ndlfs::backends::kerchunk
