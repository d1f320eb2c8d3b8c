// SPDX-License-Identifier: MIT
#include "backends/format/zarr/extension.h"

#include <algorithm>

namespace ndlfs::backends::zarr {
namespace {

const Json& EmptyObject() {
  static const Json empty = Json::object();
  return empty;
}

}  // namespace

model::Result<Extension> ParseExtension(const Json& value) {
  if (value.is_string()) return Extension{value.get<std::string>(), &EmptyObject()};
  if (!value.is_object()) {
    return model::BadInput("expected a name or an object with a name, found {}",
                           DescribeJson(value));
  }
  NDLFS_TRY(const Json* name, RequireMember(value, "name"));
  if (!name->is_string()) {
    return model::BadInput("name: expected a string, found {}", DescribeJson(*name));
  }
  Extension extension{name->get<std::string>(), &EmptyObject()};
  for (const auto& [key, member] : value.items()) {
    if (key == "configuration") {
      if (!member.is_object()) {
        return model::BadInput("configuration: expected an object, found {}",
                               DescribeJson(member));
      }
      extension.configuration = &member;
    } else if (key == "must_understand") {
      if (!member.is_boolean()) {
        return model::BadInput("must_understand: expected true or false, found {}",
                               DescribeJson(member));
      }
      extension.must_understand = member.get<bool>();
    } else if (key != "name") {
      return model::BadInput("unknown member {}", model::Quote(key));
    }
  }
  return extension;
}

model::Result<Extension> ParseRequiredExtension(const Json& value) {
  NDLFS_TRY(Extension extension, ParseExtension(value));
  if (!extension.must_understand) {
    return model::BadInput("\"must_understand\": false is not allowed here");
  }
  return extension;
}

model::Result<void> RefuseUnknownMembers(const Json& configuration,
                                         std::initializer_list<std::string_view> known) {
  for (const auto& [key, member] : configuration.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return model::BadInput("configuration: unknown member {}", model::Quote(key));
    }
  }
  return {};
}

}  // namespace ndlfs::backends::zarr
