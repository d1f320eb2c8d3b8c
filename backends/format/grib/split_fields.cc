// SPDX-License-Identifier: MIT
#include "backends/format/grib/split_fields.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace ndlfs::backends::grib {
namespace {

using Fields = std::vector<const IndexedField*>;

auto PlaceOf(const IndexedField& field) {
  const Product& product = field.product;
  return std::tuple(product.member.value_or(-1), product.reference, product.step, product.level,
                    product.second_level.value_or(0));
}

bool HasDuplicates(const Fields& fields) {
  std::set<decltype(PlaceOf(*fields.front()))> places;
  for (const IndexedField* field : fields) {
    if (!places.insert(PlaceOf(*field)).second) return true;
  }
  return false;
}

// Those with the same key together, in the order of their first ones.
template <typename KeyOf>
std::vector<Fields> GroupBy(const Fields& fields, const KeyOf& key_of) {
  using Key = decltype(key_of(*fields.front()));
  std::map<Key, size_t> numbers;
  std::vector<Fields> groups;
  for (const IndexedField* field : fields) {
    const auto [entry, is_new] = numbers.try_emplace(key_of(*field), groups.size());
    if (is_new) groups.emplace_back();
    groups[entry->second].push_back(field);
  }
  return groups;
}

// Nothing for intervals since the reference time; "3h", "10m" or "10s" for others, and "0h" for
// moments.
std::string NameInterval(const IndexedField& field) {
  const Product& product = field.product;
  const int64_t length = product.interval;
  if (length != 0 && length == product.step) return {};
  if (length % 3600 == 0) return fmt::format("{}h", length / 3600);
  return length % 60 == 0 ? fmt::format("{}m", length / 60) : fmt::format("{}s", length);
}

// If several fields are at one place, the first fields of all places make one set, the second
// ones another.
void SplitByOrder(const Fields& fields, const std::string& suffix,
                  std::vector<FieldSet>& sets) {
  std::map<decltype(PlaceOf(*fields.front())), size_t> counts;
  std::vector<Fields> turns;
  for (const IndexedField* field : fields) {
    const size_t turn = counts[PlaceOf(*field)]++;
    if (turn == turns.size()) turns.emplace_back();
    turns[turn].push_back(field);
  }
  for (size_t i = 0; i < turns.size(); ++i) {
    sets.push_back({suffix, std::move(turns[i]), static_cast<uint32_t>(i)});
  }
}

void SplitByRest(const Fields& fields, const std::string& suffix, std::vector<FieldSet>& sets) {
  if (!HasDuplicates(fields)) {
    sets.push_back({suffix, fields});
    return;
  }
  const auto groups =
      GroupBy(fields, [](const IndexedField& field) { return field.product.rest_hash; });
  // Headers that always differ tell nothing.
  constexpr size_t kMostKinds = 16;
  if (groups.size() > kMostKinds) return SplitByOrder(fields, suffix, sets);
  for (size_t i = 0; i < groups.size(); ++i) {
    const size_t begin = sets.size();
    SplitByOrder(groups[i], suffix, sets);
    if (i == 0) continue;
    sets[begin].note =
        "its messages differ from others of the parameter in octets without a "
        "meaning here, such as the process or the version of an experiment";
  }
}

}  // namespace

std::string NoteOfTurn(size_t fields, uint32_t turn) {
  return fmt::format(
      "the file has {} of these fields more than once: those that come as number {} are here",
      fields, turn + 1);
}

std::vector<FieldSet> SplitFields(const Fields& fields) {
  std::vector<FieldSet> sets;
  if (!HasDuplicates(fields)) return {{"", fields}};
  const auto groups = GroupBy(fields, NameInterval);
  for (const Fields& group : groups) {
    SplitByRest(group, groups.size() > 1 ? NameInterval(*group.front()) : "", sets);
  }
  return sets;
}

}  // namespace ndlfs::backends::grib
