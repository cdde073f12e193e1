// Image files of every format, written by the formats' own libraries, with the pixels that they must give.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace headrace_image {

struct TestFile {
  std::string name;
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> rgb;  // kHeight × kWidth × 3
  int tolerance = 0;         // of lossy formats
};
constexpr int kWidth = 13, kHeight = 9;

std::vector<TestFile> TestFiles();

}  // namespace headrace_image
