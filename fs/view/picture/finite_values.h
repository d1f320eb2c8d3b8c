// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace ndlfs::fs {

// The finite values among some, to choose the range of a scale by.
class FiniteValues {
 public:
  explicit FiniteValues(const std::vector<double>& values) {
    std::ranges::copy_if(values, std::back_inserter(finite_),
                         [](double value) { return std::isfinite(value); });
  }

  bool empty() const { return finite_.empty(); }
  size_t size() const { return finite_.size(); }
  // The value of which `part` of all are less, from 0 to 1. There must be one.
  double Quantile(double part) {
    const auto at =
        finite_.begin() + std::lround(part * static_cast<double>(finite_.size() - 1));
    std::ranges::nth_element(finite_, at);
    return *at;
  }
  // The least and the greatest. There must be one.
  auto MinMax() const { return std::ranges::minmax(finite_); }

 private:
  std::vector<double> finite_;
};

}  // namespace ndlfs::fs
