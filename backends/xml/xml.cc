// SPDX-License-Identifier: MIT
#include "backends/xml/xml.h"

#include <expat.h>

#include <climits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace ndlfs::backends {
namespace {

constexpr size_t kMostLevels = 16;
constexpr size_t kLongestName = 256;
// Stands between name space and name. No URI has it.
constexpr char kAfterNamespace = '\n';

struct FreeParser {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};
using ParserPtr = std::unique_ptr<std::remove_pointer_t<XML_Parser>, FreeParser>;

class Walk {
 public:
  using AtEnd = std::function<model::Result<void>(const XmlElement&)>;

  Walk(const AtEnd& at_end, size_t longest_text)
      : at_end_(at_end),
        longest_text_(longest_text),
        parser_(XML_ParserCreateNS(nullptr, kAfterNamespace)) {
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), &OnBegin, &OnEnd);
    XML_SetCharacterDataHandler(parser_.get(), &OnText);
    XML_SetStartDoctypeDeclHandler(parser_.get(), &OnDoctype);
  }

  model::Result<void> Run(std::string_view document) {
    if (document.size() > INT_MAX)
      return model::Limit("a document of {} bytes", document.size());
    const auto status =
        XML_Parse(parser_.get(), document.data(), static_cast<int>(document.size()), XML_TRUE);
    if (error_) return model::Propagate(*std::move(error_));
    if (status == XML_STATUS_OK) return {};
    return model::BadInput("no valid XML, line {}: {}", LineOf(parser_.get()),
                           XML_ErrorString(XML_GetErrorCode(parser_.get())));
  }

 private:
  struct Level {
    size_t outer_path;  // the length of the path without this level
    size_t line;
    std::vector<std::pair<std::string, std::string>> attributes;
    std::string text;
  };

  // Later releases of expat have another function, whose numbers have 64 bits everywhere, and
  // call this one deprecated.
  template <typename Parser>
  static size_t LineOf(Parser parser) {
    if constexpr (requires { XML_GetCurrentLineNumber64(parser); }) {
      return static_cast<size_t>(XML_GetCurrentLineNumber64(parser));
    } else {
      return XML_GetCurrentLineNumber(parser);
    }
  }

  static Walk& Of(void* self) { return *static_cast<Walk*>(self); }
  static void OnBegin(void* self, const XML_Char* name, const XML_Char** attributes) {
    Of(self).Begin(name, attributes);
  }
  static void OnEnd(void* self, const XML_Char* /*name*/) { Of(self).End(); }
  static void OnText(void* self, const XML_Char* text, int length) {
    Of(self).Text({text, static_cast<size_t>(length)});
  }
  static void OnDoctype(void* self, const XML_Char*, const XML_Char*, const XML_Char*, int) {
    Of(self).Stop(model::BadInput("XML with a DOCTYPE").value());
  }

  static std::string_view WithoutNamespace(std::string_view name) {
    const size_t end_of_namespace = name.rfind(kAfterNamespace);
    if (end_of_namespace != name.npos) name.remove_prefix(end_of_namespace + 1);
    return name;
  }

  void Stop(model::Error error) {
    if (!error_) error_ = std::move(error);
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  // After a stop, expat may still call some handlers.
  void Begin(std::string_view name, const XML_Char** attributes) {
    if (error_) return;
    name = WithoutNamespace(name);
    if (levels_.size() == kMostLevels) {
      return Stop(model::BadInput("XML of more than {} levels", kMostLevels).value());
    }
    if (name.size() > kLongestName) return Stop(model::BadInput("a long name in XML").value());
    levels_.push_back({path_.size(), LineOf(parser_.get()), {}, {}});
    for (; *attributes != nullptr; attributes += 2) {
      levels_.back().attributes.emplace_back(WithoutNamespace(attributes[0]), attributes[1]);
    }
    if (!path_.empty()) path_ += '/';
    path_ += name;
  }

  void Text(std::string_view text) {
    if (error_ || levels_.empty()) return;
    std::string& all = levels_.back().text;
    if (text.size() > longest_text_ - all.size()) {
      return Stop(
          model::BadInput("a text of more than {} bytes in XML", longest_text_).value());
    }
    all += text;
  }

  void End() {
    if (error_) return;
    const Level& level = levels_.back();
    auto done = at_end_({path_, level.text, level.attributes, level.line});
    path_.resize(levels_.back().outer_path);
    levels_.pop_back();
    if (!done) Stop(std::move(done).error());
  }

  const AtEnd& at_end_;
  const size_t longest_text_;
  const ParserPtr parser_;
  std::string path_;
  std::vector<Level> levels_;
  std::optional<model::Error> error_;
};

}  // namespace

model::Result<void> WalkXml(
    std::string_view document,
    const std::function<model::Result<void>(const XmlElement& element)>& at_end,
    size_t longest_text) {
  return Walk(at_end, longest_text).Run(document);
}

}  // namespace ndlfs::backends
