// SPDX-License-Identifier: MIT
//
// Attributes by their names, and their values in the simplest form.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/entities.h"

namespace ndlfs::model {

// An attribute of text whose encoding is not known: UTF-8, or else Latin-1.
Attribute MakeTextAttribute(std::string name, std::string_view text);

// Null where there is none of that name.
const Attribute* FindAttribute(const std::vector<Attribute>& attributes, std::string_view name);
// The number that a value is; nullopt for others.
std::optional<double> AsDouble(const Value& value);
// The only item of a list, or the value itself; null for longer lists.
const Value* OnlyItem(const Value& value);
// The text of an attribute, a list of one text too; empty where there is none.
std::string TextOf(const std::vector<Attribute>& attributes, std::string_view name);
// The numbers of an attribute: one, or a list. Empty where there are none.
std::vector<double> NumbersOf(const std::vector<Attribute>& attributes, std::string_view name);
// The number of an attribute that is one number, or a list of one.
std::optional<double> NumberOf(const std::vector<Attribute>& attributes, std::string_view name);

}  // namespace ndlfs::model
