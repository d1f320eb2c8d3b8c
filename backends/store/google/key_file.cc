// SPDX-License-Identifier: MIT
#include "backends/store/google/key_file.h"

#include <cerrno>

#include "backends/store/object/environment.h"

namespace ndlfs::backends::google {

model::Result<KeyFile> KeyFile::Read(const std::string& path) {
  NDLFS_TRY(const auto text, object::ReadSmallFile(path));
  if (!text) return model::Propagate(model::IoError(ENOENT, path).value());
  auto json = ParseJson(*text, 1000);
  // The message of the parser quotes the text, which has secrets.
  if (!json || !json->is_object()) return model::BadInput("{}: no valid JSON object", path);
  return KeyFile(path, *std::move(json));
}

const Json* KeyFile::FindValue(const char* name) const {
  const auto found = json_.find(name);
  return found == json_.end() ? nullptr : &*found;
}

std::string KeyFile::Find(const char* name) const {
  const Json* const found = FindValue(name);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

model::Result<std::string> KeyFile::Require(const char* name) const {
  std::string text = Find(name);
  if (text.empty()) return model::BadInput("{}: there is no {} in it", place_, name);
  return text;
}

std::optional<KeyFile> KeyFile::FindObject(const char* name) const {
  const Json* const found = FindValue(name);
  if (found == nullptr || !found->is_object()) return std::nullopt;
  return KeyFile(place_ + ": " + name, *found);
}

model::Result<KeyFile> KeyFile::RequireObject(const char* name) const {
  auto object = FindObject(name);
  if (!object) return model::BadInput("{}: there is no {} in it", place_, name);
  return *std::move(object);
}

}  // namespace ndlfs::backends::google
