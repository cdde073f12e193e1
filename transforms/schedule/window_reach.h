// Which points of a line the places of a window reach data from, where borders are known: by one range of the window.
//   x in 0:28, l in 0:3, X[x + l - 1] ?? 0   →  of the points 0:6 by the place l = 0: 1:6; by the others: all
#pragma once
#include <optional>
#include <vector>

#include "transforms/schedule/borders.h"

namespace headrace::schedule {

// Points of a tile that follow each other, from its first on.
struct RowSpan {
  int64_t begin = 0, end = 0;
  bool reached = true;
};

// Places of the window that follow each other, from which the same points are reached.
struct ReachedSpans {
  int64_t begin = 0, end = 0;
  std::vector<RowSpan> rows;
};

class WindowReach {
 public:
  // Null where several ranges of the window, or none, decide, one that something else is asked of, too, or sizes that nobody knows.
  static std::optional<WindowReach> Of(const Borders& borders, const Range& line, const std::vector<Range>& window);

  const Range& place() const { return place_; }
  // Of the tile of these points.
  std::vector<ReachedSpans> Spans(int64_t first, int64_t rows) const;

 private:
  // 0 or more, all of them, where a point is reached from a place: by · place + of · point + rest.
  struct Slack {
    int64_t by, of, rest;
  };
  bool Reached(int64_t point, int64_t place) const;

  Range place_;
  std::vector<Slack> slacks_;
};

}  // namespace headrace::schedule
