// SPDX-License-Identifier: MIT
#include "fs/view/base/html_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/utf8.h"

namespace ndlfs::fs {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr size_t kNameBytes = 200;

constexpr std::string_view kStyle = {
#include "fs/view/base/page.css.inc"
};

// The script takes only the text of the page, so that names with markup in them stay text.
constexpr std::string_view kSearch = {
#include "fs/view/base/page.js.inc"
};

// Characters that HTML has no place for: C1 controls, and code points that are none.
bool IsForbidden(std::string_view sequence) {
  if (sequence.size() == 2) return sequence[0] == '\xC2' && sequence[1] < '\xA0';
  if (sequence.size() < 3) return false;
  if (sequence.starts_with("\xEF\xB7")) return sequence[2] >= '\x90' && sequence[2] <= '\xAF';
  const bool is_last_of_plane =
      sequence.ends_with("\xBF\xBE") || sequence.ends_with("\xBF\xBF");
  if (!is_last_of_plane) return false;
  return sequence.size() == 3 ? sequence[0] == '\xEF' : (sequence[1] & 0x0F) == 0x0F;
}

void AppendAscii(std::string& out, char c) {
  switch (c) {
    case '&':
      out += "&amp;";
      return;
    case '<':
      out += "&lt;";
      return;
    case '>':
      out += "&gt;";
      return;
    case '"':
      out += "&quot;";
      return;
    default:
      break;
  }
  const bool is_control =
      (static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t') || c == '\x7F';
  is_control ? out += kReplacement : out += c;
}

}  // namespace

std::string HtmlText(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const size_t length = model::Utf8SequenceLength(text);
    if (length == 1) {
      AppendAscii(out, text.front());
    } else {
      out += length == 0 || IsForbidden(text.substr(0, length)) ? kReplacement
                                                                : text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

std::string HtmlName(std::string_view text) {
  constexpr std::string_view kEllipsis = "\u2026";
  std::string shown(text);
  if (shown.size() > kNameBytes) {
    size_t cut = kNameBytes - kEllipsis.size();
    while (cut > 0 && (shown[cut] & 0xC0) == 0x80) --cut;
    shown = shown.substr(0, cut).append(kEllipsis);
  }
  std::ranges::replace_if(
      shown, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return HtmlText(shown);
}

std::string UrlOfName(std::string_view file_name) {
  std::string url;
  for (const char c : file_name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
                          c == '~';
    url += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return url;
}

std::string BeginPage(std::string_view title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n",
      HtmlName(title), kStyle);
}

std::string_view StyleOfPages() { return kStyle; }
std::string_view ScriptOfPages() { return kSearch; }

std::string EndPage() { return "</body>\n</html>\n"; }

std::string SearchScript(size_t entries) {
  constexpr size_t kFew = 8;
  return entries <= kFew ? std::string() : fmt::format("<script>{}</script>\n", kSearch);
}

std::string FormatBytes(double bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return unit == 0 || bytes >= 99.95 ? fmt::format("{:.0f} {}", bytes, kUnits[unit])
                                     : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace ndlfs::fs
