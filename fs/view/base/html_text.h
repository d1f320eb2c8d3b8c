// SPDX-License-Identifier: MIT
//
// Pieces of HTML pages that need no other file. Pages have one script, and work without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ndlfs::fs {

// `text` as the text of an element, or as the value of an attribute in double quotes. Bytes
// that are not UTF-8 and control characters, which HTML does not allow, become U+FFFD. This is
// text of XML, too.
std::string HtmlText(std::string_view text);
// The same for a name or another short text: on one line, and of at most 200 bytes. A longer
// text ends in an ellipsis, which is part of these bytes.
std::string HtmlName(std::string_view text);

// The name of a file or folder as a part of a relative URL: letters, digits and "-._~" as they
// are, every other byte as %XX.
std::string UrlOfName(std::string_view file_name);

// Everything before the contents of a page: the style for light and dark, wide and narrow.
std::string BeginPage(std::string_view title);
// Everything after the contents.
std::string EndPage();

// A script for pages with long lists: a field that hides the entries without the words in it.
// The entries are the children of elements with the attribute "data-find". Empty if there are
// too few to search.
std::string SearchScript(size_t entries);

// The contents of the elements `style` and `script` of pages. No page has others.
std::string_view StyleOfPages();
std::string_view ScriptOfPages();

// A number of bytes for people: "12.3 GiB".
std::string FormatBytes(double bytes);

}  // namespace ndlfs::fs
