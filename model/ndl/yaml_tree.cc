// SPDX-License-Identifier: MIT
#include "model/ndl/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <istream>
#include <optional>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "model/error.h"
#include "model/utf8.h"

namespace ndlfs::model {
namespace {

// Thrown through yaml-cpp, which has no other way to be stopped.
struct Refusal {
  Diagnostic diagnostic;
};

Diagnostic At(int line, int column, std::string message) {
  return {line, column, {}, std::move(message)};
}
Diagnostic At(const YAML::Mark& mark, std::string message) {
  return At(mark.line + 1, mark.column + 1, std::move(message));
}

// Line and column of the byte at `offset`.
Diagnostic AtOffset(std::string_view text, size_t offset, std::string message) {
  const std::string_view before = text.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? offset : offset - newline - 1;
  return At(static_cast<int>(lines) + 1, static_cast<int>(column) + 1, std::move(message));
}

// Reports bytes that YAML allows nowhere: invalid UTF-8 and control characters.
std::optional<Diagnostic> CheckCharacters(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x20 && byte < 0x80) {
      ++i;
      continue;
    }
    const size_t length = Utf8SequenceLength(text.substr(i));
    if (length == 0) {
      return AtOffset(text, i, fmt::format("the byte 0x{:02x} is not UTF-8", byte));
    }
    if (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') {
      return AtOffset(text, i,
                      fmt::format(R"(the control character 0x{:02x} is not allowed, )"
                                  R"(expected it as "\x{:02x}" in double quotes)",
                                  byte, byte));
    }
    i += length;
  }
  return std::nullopt;
}

// Gives a text to yaml-cpp without copying it, and stops it before its queue
// grows too long: the scanner queues all tokens of a collection that may turn
// out to be a key, such as `[[[...`, before it reports the first of them.
class LimitedBuffer : public std::streambuf {
 public:
  LimitedBuffer(std::string_view text, size_t limit) : limit_(limit) {
    char* begin = const_cast<char*>(text.data());  // which streambuf only reads
    setg(begin, begin, begin + text.size());
  }

  // Tells the buffer that yaml-cpp reported a node, and so emptied its queue.
  void Reported(const YAML::Mark& mark) {
    indicators_ = 0;
    last_ = mark;
  }

 protected:
  std::streamsize xsgetn(char* out, std::streamsize count) override {
    const std::streamsize size = std::min<std::streamsize>(count, egptr() - gptr());
    std::copy_n(gptr(), size, out);
    indicators_ += static_cast<size_t>(std::count_if(gptr(), gptr() + size, IsIndicator));
    setg(eback(), gptr() + size, egptr());
    if (indicators_ > limit_) {
      throw Refusal{At(last_, fmt::format("a collection in flow style, or a text, with more "
                                          "than {} indicators follows",
                                          limit_))};
    }
    return size;
  }

 private:
  static bool IsIndicator(char c) {
    return std::string_view("[]{},:?-&*!'\"\n").find(c) != std::string_view::npos;
  }

  size_t limit_;
  size_t indicators_ = 0;
  YAML::Mark last_;
};

struct Translation {
  std::string_view theirs;
  std::string_view ours;
};

// yaml-cpp's messages are in terms of its grammar. These tell authors of
// documents what to change.
constexpr std::array kTranslations = {
#include "model/ndl/yaml_messages.inc"
};

std::string_view Line(std::string_view text, int number) {
  for (; number > 0; --number) {
    const size_t newline = text.find('\n');
    if (newline == std::string_view::npos) return {};
    text.remove_prefix(newline + 1);
  }
  return text.substr(0, text.find('\n'));
}

Diagnostic Translate(std::string_view text, const YAML::Exception& error) {
  const std::string_view line = Line(text, error.mark.line);
  const size_t tab = line.find('\t');
  if (tab != std::string_view::npos && line.find_first_not_of(" \t") > tab) {
    return At(error.mark.line + 1, static_cast<int>(tab) + 1,
              "a tab in the indentation, expected spaces");
  }
  for (const Translation& translation : kTranslations) {
    // yaml-cpp 0.8 names the anchor behind a colon.
    const std::string_view name = translation.theirs;
    if (error.msg == name || error.msg.starts_with(std::string(name) + ": ")) {
      return At(error.mark, std::string(translation.ours));
    }
  }
  return At(error.mark, "this is not YAML: " + error.msg);
}

// yaml-cpp makes single bytes of the escapes \N (U+0085) and \_ (U+00A0).
std::string RepairEscapes(std::string_view text) {
  std::string repaired;
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    if (length == 0) {
      AppendUtf8(repaired, static_cast<unsigned char>(text.front()));
    } else {
      repaired += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return repaired;
}

// Whether the quoted scalar at the beginning of `text` has a closing quote.
bool IsClosed(std::string_view text) {
  const char quote = text.front();
  for (size_t i = 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '"' || i + 1 == text.size() || text[i + 1] != '\'') return true;
      ++i;
    }
  }
  return false;
}

}  // namespace

class YamlTreeBuilder final : public YAML::EventHandler {
 public:
  YamlTreeBuilder(LimitedBuffer& buffer, const YamlLimits& limits)
      : buffer_(buffer), limits_(limits) {
    tree_.memory_ = std::make_unique<std::pmr::monotonic_buffer_resource>();
  }

  YamlTree Finish() {
    tree_.size_ = counted_.nodes;
    tree_.text_bytes_ = counted_.bytes;
    return std::move(tree_);
  }
  // Where the last scalar in quotes began.
  const std::optional<YAML::Mark>& last_quoted() const { return last_quoted_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) {
      throw Refusal{At(mark, "a second document begins, expected only one")};
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode* node = NewNode(mark, YamlNode::Kind::kNull, anchor);
    FinishNode(node, anchor, {1, 0});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t id) override {
    buffer_.Reported(mark);
    const Anchor& anchor = anchors_.at(id);
    if (anchor.node == nullptr) {
      throw Refusal{At(mark, "an alias inside its own anchor")};
    }
    has_aliases_ = true;
    CountAlias(mark, anchor.expanded);
    AddChild(anchor.node);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& scalar) override {
    std::string repaired;
    if (!IsUtf8(scalar)) repaired = RepairEscapes(scalar);
    const std::string& value = repaired.empty() ? scalar : repaired;
    YamlNode* node = NewNode(mark, YamlNode::Kind::kScalar, anchor);
    node->tag_ = ScalarTag(mark, tag);
    if (tag == "!") last_quoted_ = mark;
    auto* text = static_cast<char*>(tree_.memory_->allocate(value.size() + 1, 1));
    std::copy(value.begin(), value.end(), text);
    node->data_ = text;
    node->size_ = static_cast<uint32_t>(value.size());
    counted_.bytes += value.size();
    FinishNode(node, anchor, {1, value.size()});
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    CheckCollectionTag(mark, tag, "tag:yaml.org,2002:seq");
    Open(mark, YamlNode::Kind::kSequence, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    CheckCollectionTag(mark, tag, "tag:yaml.org,2002:map");
    Open(mark, YamlNode::Kind::kMapping, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapEnd() override { Close(); }

 private:
  // The size of a part of the document, with what its aliases repeat.
  struct Amount {
    uint64_t nodes = 0;
    uint64_t bytes = 0;  // of scalars
  };
  struct Anchor {
    const YamlNode* node = nullptr;  // null while it is open
    Amount expanded;
  };
  struct OpenNode {
    YamlNode* node;
    YAML::anchor_t anchor;
    size_t first_child;  // in children_
    Amount counted_before;
  };

  static YamlNode::Tag ScalarTag(const YAML::Mark& mark, std::string_view tag) {
    constexpr std::string_view kYaml = "tag:yaml.org,2002:";
    if (tag == "?") return YamlNode::Tag::kPlain;
    if (tag == "!") return YamlNode::Tag::kQuoted;
    if (tag.starts_with(kYaml)) {
      const std::string_view name = tag.substr(kYaml.size());
      if (name == "str") return YamlNode::Tag::kQuoted;
      if (name == "binary") return YamlNode::Tag::kBinary;
      if (name == "int" || name == "float" || name == "bool") return YamlNode::Tag::kOther;
    }
    throw Refusal{At(mark, "unknown tag " + Quote(tag))};
  }

  static void CheckCollectionTag(const YAML::Mark& mark, std::string_view tag,
                                 std::string_view expected) {
    if (tag.empty() || tag == "?" || tag == "!" || tag == expected) return;
    throw Refusal{At(mark, "unknown tag " + Quote(tag))};
  }

  // Counts a node; throws if there are too many.
  void CountNode(const YAML::Mark& mark) {
    if (++counted_.nodes <= limits_.nodes) return;
    throw Refusal{At(mark, fmt::format("{} more than {} values",
                                       has_aliases_ ? "aliases expand to" : "a document of",
                                       limits_.nodes))};
  }

  // Counts `expanded`, which an alias repeats; throws if it is too much. Bytes
  // of the document itself are limited elsewhere.
  void CountAlias(const YAML::Mark& mark, const Amount& expanded) {
    counted_.nodes += expanded.nodes;
    counted_.bytes += expanded.bytes;
    if (counted_.nodes > limits_.nodes) {
      throw Refusal{
          At(mark, fmt::format("aliases expand to more than {} values", limits_.nodes))};
    }
    if (counted_.bytes > limits_.bytes) {
      throw Refusal{
          At(mark, fmt::format("aliases expand to more than {} bytes", limits_.bytes))};
    }
  }

  YamlNode* NewNode(const YAML::Mark& mark, YamlNode::Kind kind, YAML::anchor_t anchor) {
    buffer_.Reported(mark);
    CountNode(mark);
    auto* node = new (tree_.memory_->allocate(sizeof(YamlNode), alignof(YamlNode))) YamlNode;
    node->line_ = mark.line + 1;
    node->column_ = mark.column + 1;
    node->kind_ = kind;
    if (anchor >= anchors_.size()) anchors_.resize(anchor + 1);
    return node;
  }

  void FinishNode(YamlNode* node, YAML::anchor_t anchor, const Amount& expanded) {
    if (anchor != 0) anchors_[anchor] = {node, expanded};
    AddChild(node);
  }

  void AddChild(const YamlNode* node) {
    if (open_.empty()) {
      tree_.root_ = node;
    } else {
      children_.push_back(node);
    }
  }

  void Open(const YAML::Mark& mark, YamlNode::Kind kind, YAML::anchor_t anchor) {
    if (open_.size() == limits_.depth) {
      throw Refusal{At(mark, fmt::format("nested more than {} deep", limits_.depth))};
    }
    YamlNode* node = NewNode(mark, kind, anchor);
    open_.push_back({node, anchor, children_.size(), {counted_.nodes - 1, counted_.bytes}});
  }

  void Close() {
    const OpenNode open = open_.back();
    open_.pop_back();
    const size_t count = children_.size() - open.first_child;
    auto* items = static_cast<const YamlNode**>(
        tree_.memory_->allocate(count * sizeof(const YamlNode*) + 1, alignof(const YamlNode*)));
    const auto begin = children_.begin() + static_cast<ptrdiff_t>(open.first_child);
    std::copy(begin, children_.end(), items);
    children_.erase(begin, children_.end());
    open.node->data_ = items;
    open.node->size_ = static_cast<uint32_t>(count);
    FinishNode(open.node, open.anchor,
               {counted_.nodes - open.counted_before.nodes,
                counted_.bytes - open.counted_before.bytes});
  }

  LimitedBuffer& buffer_;
  const YamlLimits limits_;
  YamlTree tree_;
  std::vector<OpenNode> open_;
  std::vector<const YamlNode*> children_;  // children of the open nodes
  std::vector<Anchor> anchors_;            // by yaml-cpp's number; 0 is none
  std::optional<YAML::Mark> last_quoted_;
  Amount counted_;
  size_t documents_ = 0;
  bool has_aliases_ = false;
};

tl::expected<YamlTree, Diagnostic> ParseYaml(std::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.bytes) {
    return tl::unexpected(
        At(1, 1, fmt::format("a document of more than {} bytes", limits.bytes)));
  }
  if (auto error = CheckCharacters(text)) return tl::unexpected(*std::move(error));
  LimitedBuffer buffer(text, limits.lookahead);
  YamlTreeBuilder builder(buffer, limits);
  try {
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refusal& refusal) {
    return tl::unexpected(refusal.diagnostic);
  } catch (const YAML::Exception& error) {
    return tl::unexpected(Translate(text, error));
  }
  // yaml-cpp accepts a quoted scalar that the end of the text cuts off.
  if (const auto& mark = builder.last_quoted()) {
    const std::string_view line = Line(text, mark->line);
    const size_t column = static_cast<size_t>(mark->column);
    const std::string_view rest = text.substr(static_cast<size_t>(line.data() - text.data()));
    if (column < line.size() && (line[column] == '"' || line[column] == '\'') &&
        !IsClosed(rest.substr(column))) {
      return tl::unexpected(At(*mark, "a quoted text without a closing quote"));
    }
  }
  return builder.Finish();
}

}  // namespace ndlfs::model
