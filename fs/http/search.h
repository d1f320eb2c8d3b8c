// SPDX-License-Identifier: MIT
//
// The search of the pages: names of files and folders, and attributes of groups and arrays.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/http/reply.h"
#include "fs/tree/tree_node.h"
#include "model/error.h"

namespace ndlfs::fs {

struct SearchHit {
  std::vector<std::string> path;  // from the folder in which the search began
  bool is_directory = false;
  // The first attribute with one of the words: its name and its value; empty if it is in the
  // name.
  std::pair<std::string, std::string> attribute = {};
};

struct SearchResult {
  std::vector<SearchHit> hits;  // folders near the beginning come first
  bool is_complete = true;  // false: there were too many hits or folders, or it took too long
  uint64_t bytes = 0;       // that the hits take, nearly
};

// Looks for files and folders below `directory` in whose name or attributes each of the words
// of `question` occurs; capitals count as small letters. Follows no links, and leaves out
// `.ndlfs`. Takes some seconds at most, and finds at most 500, or fewer if these take much
// memory. Of a long value, only the beginning is told.
model::Result<SearchResult> Search(const TreeNodePtr& directory, std::string_view question);

// A page with the hits; its links are relative to the folder.
NextPiece SearchAsHtml(SearchResult result, std::string_view question);

// The same for programs: an object with `complete`, and with `hits`, a list of objects with
// `path`, `type` and, if an attribute has one of the words, `attribute` and `value`.
NextPiece SearchAsJson(SearchResult result);

// The field in which people enter a question; `question` is its text.
std::string SearchForm(std::string_view question);

}  // namespace ndlfs::fs
