// SPDX-License-Identifier: MIT
#include "backends/store/answer_age.h"

namespace ndlfs::backends {
namespace {

thread_local AnswerAge* current_age = nullptr;

}  // namespace

AnswerAge::AnswerAge(Time begin) : begin_(begin), outer_(current_age) { current_age = this; }

AnswerAge::~AnswerAge() {
  current_age = outer_;
  Note(oldest_);
}

void AnswerAge::Note(Time when) {
  if (current_age != nullptr) current_age->oldest_ = std::min(current_age->oldest_, when);
}

}  // namespace ndlfs::backends
