// SPDX-License-Identifier: MIT
//
// The examples of NDL in man/ndl.5 are documents without a mistake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "model/ndl/ndl_reader.h"

namespace ndlfs::model {
namespace {

// What troff shows for a line of an example.
std::string Unescape(std::string line) {
  if (line.starts_with("\\&")) line.erase(0, 2);
  for (size_t i = 0; (i = line.find('\\', i)) != std::string::npos; ++i) {
    EXPECT_TRUE(line[i + 1] == '-' || line[i + 1] == 'e') << line;
    line.replace(i, 2, line[i + 1] == '-' ? "-" : "\\");
  }
  return line;
}

std::vector<std::string> Examples() {
  std::ifstream page(std::filesystem::path(NDLFS_TEST_DATA) / "../../man/ndl.5");
  EXPECT_TRUE(page);
  std::vector<std::string> examples;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line == ".EX") {
      inside = true;
      examples.emplace_back();
    } else if (line == ".EE") {
      inside = false;
    } else if (inside) {
      examples.back() += Unescape(line) + "\n";
    }
  }
  std::erase_if(examples,
                [](const std::string& text) { return text.starts_with('<'); });  // NcML
  return examples;
}

TEST(NdlManualTest, ItsExamplesAreValid) {
  const std::vector<std::string> examples = Examples();
  EXPECT_GE(examples.size(), 8u);
  for (const std::string& example : examples) {
    for (const Diagnostic& error : ReadNdl(example, "example.yaml").errors) {
      ADD_FAILURE() << FormatDiagnostic("example", error) << "\n" << example;
    }
    EXPECT_TRUE(LooksLikeNdl(example)) << example;
  }
}

}  // namespace
}  // namespace ndlfs::model
