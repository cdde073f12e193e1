// The allocator of whoever links this asks the system for huge pages: programs are walked from pointer to pointer, and at 10^5
// nodes nearly every step leaves what the processor remembers of pages of 4 KiB. What MIMALLOC_LARGE_OS_PAGES says comes first.

// Of mimalloc.h; not there where the allocator is another.
extern "C" void mi_option_set_enabled_default(int option, bool enable) __attribute__((weak));

namespace {

constexpr int kLargeOsPages = 6;  // mi_option_large_os_pages

const bool asked = [] {
  if (mi_option_set_enabled_default) mi_option_set_enabled_default(kLargeOsPages, true);
  return true;
}();

}  // namespace
