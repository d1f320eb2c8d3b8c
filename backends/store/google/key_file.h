// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "backends/base/json.h"
#include "model/error.h"

namespace ndlfs::backends::google {

// A file of credentials of Google's tools, or an object in it. Most of its values are secret:
// no message has one.
class KeyFile {
 public:
  // An error if there is no such file, or it is no JSON object.
  static model::Result<KeyFile> Read(const std::string& path);

  // The text of this name; empty if there is none.
  std::string Find(const char* name) const;
  // kBadInput if there is none.
  model::Result<std::string> Require(const char* name) const;
  // The object of this name.
  std::optional<KeyFile> FindObject(const char* name) const;
  model::Result<KeyFile> RequireObject(const char* name) const;
  // The value of this name; null if there is none. It lives as long as this object.
  const Json* FindValue(const char* name) const;

  // The path of the file, and the name of the object in it, for messages.
  const std::string& place() const { return place_; }
  const Json& json() const { return json_; }

 private:
  KeyFile(std::string place, Json json) : place_(std::move(place)), json_(std::move(json)) {}

  std::string place_;
  Json json_;
};

}  // namespace ndlfs::backends::google
