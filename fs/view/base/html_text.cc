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

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --text: #1c2024; --page: #fff; --soft: #5a636d; --line: #d9dee3;
  --box: #f5f7f9; --link: #0b57d0; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e7ea; --page: #15181b; --soft: #9ba5af; --line: #343a40; --box: #1e2226;
    --link: #8ab4f8; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1rem 1.25rem 3rem; color: var(--text);
  background: var(--page); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  overflow-wrap: break-word; }
[hidden] { display: none !important; }
input[type=search] { width: 100%; max-width: 24rem; margin: .8rem 0 0; padding: .4rem .6rem;
  font: inherit; color: inherit; background: var(--box); border: 1px solid var(--line);
  border-radius: 6px; }
form { display: flex; gap: .5rem; max-width: 32rem; margin: .8rem 0; }
form input[type=search] { margin: 0; }
button { padding: .4rem .8rem; font: inherit; color: inherit; background: var(--box);
  border: 1px solid var(--line); border-radius: 6px; cursor: pointer; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
nav { color: var(--soft); font-size: .9rem; }
h1 { margin: .4rem 0 0; font-size: 1.8rem; line-height: 1.25; }
h2 { margin: 2.2rem 0 .6rem; font-size: 1.15rem; border-bottom: 1px solid var(--line); }
p { margin: .4rem 0; }
.soft { color: var(--soft); }
.small { font-size: .875rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { padding: .3rem .8rem .3rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
tr:last-child > * { border-bottom: 0; }
td img, tr:has(img) > td { vertical-align: middle; }
th { font-weight: 600; }
thead th { color: var(--soft); font-weight: 400; }
.facts { table-layout: fixed; }
.facts th { width: 12rem; color: var(--soft); font-weight: 400; }
.range { white-space: nowrap; }
.wide-names th { width: 60%; font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code, pre { font: .875em/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { margin: .3rem 0 .9rem; padding: .6rem .8rem; overflow-x: auto; background: var(--box);
  border: 1px solid var(--line); border-radius: 6px; overflow-wrap: normal; }
.text { white-space: pre-wrap; }
summary { cursor: pointer; }
figure { margin: 1rem 0; }
figure img { display: block; width: 100%; max-width: 48rem; height: auto; background: #fff;
  border: 1px solid var(--line); border-radius: 6px; }
ul.cards { list-style: none; margin: 0; padding: 0; }
ul.cards li { display: flex; gap: 1rem; padding: .7rem 0; border-bottom: 1px solid var(--line); }
ul.cards li:last-child { border-bottom: 0; }
ul.cards img { display: block; width: 15rem; height: 10rem; object-fit: contain; background: #fff;
  border: 1px solid var(--line); border-radius: 4px; }
ul.cards .coordinate img { width: 7.5rem; height: 5rem; }
ul.cards li > div { flex: 1; min-width: 0; }
.plate { width: auto; }
.plate th, .plate td { padding: 1px; border: 0; text-align: center; vertical-align: middle; }
.plate tbody th { position: sticky; left: 0; padding: 0 .5rem; background: var(--page); }
.plate img { display: block; width: 4.9rem; height: 4.9rem; object-fit: contain; background: #000;
  color: #aaa; border-radius: 3px; }
.few img { width: 9rem; height: 9rem; }
.many img { width: 2.4rem; height: 2.4rem; }
.many { font-size: .75rem; }
.bad { color: #c62828; }
@media (prefers-color-scheme: dark) { .bad { color: #ff8a80; } }
@media (max-width: 36rem) {
  body { padding: .8rem .8rem 2rem; }
  h1 { font-size: 1.4rem; }
  .facts, .facts tbody, .facts tr, .facts th, .facts td { display: block; width: auto; }
  .facts th, .facts td { border: 0; padding: 0; }
  .facts tr { padding: .35rem 0; border-bottom: 1px solid var(--line); }
  .facts td + td { color: var(--soft); }
  .range + .soft, thead td { display: none; }
  .plate thead td { display: table-cell; }
  .plate img { width: 3.4rem; height: 3.4rem; }
  .many img { width: 2.2rem; height: 2.2rem; }
  ul.cards li { display: block; }
  ul.cards .coordinate { display: flex; }
  ul.cards img { width: 100%; height: auto; max-width: 20rem; margin-bottom: .4rem; }
}
)";

// The script takes only the text of the page, so that names with markup in them stay text.
constexpr std::string_view kSearch = R"(
(function () {
  var entries = document.querySelectorAll("[data-find] > *");
  var field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Search this page";
  field.setAttribute("aria-label", field.placeholder);
  field.oninput = function () {
    var words = field.value.toLowerCase().split(" ");
    entries.forEach(function (entry) {
      var text = entry.textContent.toLowerCase();
      entry.hidden = !words.every(function (word) { return text.indexOf(word) >= 0; });
    });
  };
  document.querySelector("h1").insertAdjacentElement("afterend", field);
})();
)";

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
