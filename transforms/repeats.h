// Tandem repeats of a sequence: a part of it that comes again and again, one right after the other.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace headrace::transforms {

// Parts of `period` items from `begin` on, `count` of them. As many as `slack` items after them go on in the same way, so that
// the parts may as well begin up to `slack` items later.
struct Repeat {
  size_t begin = 0, period = 0, count = 0, slack = 0;
  size_t end() const { return begin + period * count; }
  size_t saved() const { return period * (count - 1); }
};

// The repeat in items [from, to) that saves most, of parts of `least` items or more. Items that are 0 are equal to none.
std::optional<Repeat> BestRepeat(const std::vector<uint32_t>& items, size_t from, size_t to, size_t least);

}  // namespace headrace::transforms
