// Many small pieces lie in huge pages, where the system gives such to those who ask.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

extern "C" void mi_option_set_enabled_default(int option, bool enable) __attribute__((weak));

namespace headrace {
namespace {

std::string FirstLine(const char* path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

int64_t HugeKilobytes() {
  std::ifstream in("/proc/self/smaps_rollup");
  for (std::string word; in >> word;)
    if (int64_t n = 0; word == "AnonHugePages:" && in >> n) return n;
  return 0;
}

TEST(HugePages, HoldWhatIsAllocated) {
  const std::string mode = FirstLine("/sys/kernel/mm/transparent_hugepage/enabled");
  if (!mi_option_set_enabled_default || mode.find('[') == std::string::npos || mode.find("[never]") != std::string::npos ||
      std::getenv("MIMALLOC_LARGE_OS_PAGES"))
    GTEST_SKIP() << "another allocator, or a system without: " << mode;
  constexpr int kPieces = 1 << 19, kBytes = 128;
  std::vector<char*> pieces;
  for (int i = 0; i < kPieces; ++i) {
    pieces.push_back(static_cast<char*>(std::malloc(kBytes)));
    std::memset(pieces.back(), i, kBytes);
  }
  EXPECT_GT(HugeKilobytes(), 0);  // how many there are depends on what else the machine does
  for (char* p : pieces) std::free(p);
}

}  // namespace
}  // namespace headrace
