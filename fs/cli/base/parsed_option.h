// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "model/error.h"

namespace ndlfs::fs {

// Adds an option. `parse` reads its text into `value`, which `owner` keeps alive.
template <typename Value>
CLI::Option* AddParsed(CLI::App& app, const std::string& name,
                       model::Result<Value> (*parse)(std::string_view), Value& value,
                       std::shared_ptr<const void> owner, const std::string& description) {
  const auto set = [name, parse, &value, owner = std::move(owner)](const std::string& text) {
    const auto parsed = parse(text);
    if (!parsed) throw CLI::ValidationError(name + ": " + parsed.error().message());
    value = *parsed;
  };
  return app.add_option_function<std::string>(name, set, description);
}

}  // namespace ndlfs::fs
