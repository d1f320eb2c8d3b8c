// SPDX-License-Identifier: MIT
//
// Other people's software as an oracle: tests run Python with NumPy.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace ndlfs::test {

// A directory that goes with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ndlfs.XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::string operator/(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Writes a file with the given contents.
inline void WriteFile(const std::string& path, std::string_view contents) {
  std::ofstream(path, std::ios::binary)
      .write(contents.data(), static_cast<std::streamsize>(contents.size()));
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs `script` with the system's Python; returns what it prints. Fails the
// test if it does not end well.
inline std::string RunPython(std::string_view script) {
  const TemporaryDirectory directory;
  const std::string path = directory / "script.py";
  WriteFile(path, script);
  std::string printed;
  std::FILE* pipe = ::popen(("/usr/bin/python3 " + path + " 2>&1").c_str(), "r");
  if (pipe == nullptr) {
    ADD_FAILURE() << "cannot run /usr/bin/python3";
    return printed;
  }
  std::array<char, 65536> buffer;
  for (size_t count; (count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    printed.append(buffer.data(), count);
  }
  EXPECT_EQ(::pclose(pipe), 0) << printed;
  return printed;
}

// Whether Python has zarr-python 2. Version 3 has another interface, and knows neither N5 nor
// all types of Zarr v2.
inline bool HasZarrPython2() {
  static const bool has = RunPython(
                              "try:\n"
                              "    import zarr\n"
                              "    print(zarr.__version__.startswith('2.'))\n"
                              "except ImportError:\n"
                              "    print(False)\n") == "True\n";
  return has;
}

inline std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

inline std::string ToHex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}

}  // namespace ndlfs::test
