#include "transforms/layout/layout_cost.h"

#include <algorithm>
#include <cmath>

#include "ir/analysis/layout.h"

namespace headrace::layout {
namespace {

double TripsOf(const Range& r, const schedule::Device& d) {
  const double step = r.step ? std::abs(SizeOf(r.step, d)) : 1;
  return std::max(0.0, std::abs(SizeOf(r.end - r.begin, d)) / std::max(1.0, step));
}

// Different elements that it touches, each as often as indices lead to it.
double TouchesOf(const Leaf& l, const Access& a, const schedule::Device& d) {
  double n = 1;
  for (const Range& r : l.ranges)
    if (Speaks(a, r.index)) n *= TripsOf(r, d);
  return n;
}

// Functions that a tasklet calls, which lanes compute together.
double CallsOf(const Sdfg& s, NodeId tasklet) {
  double n = 0;
  Visit(std::get<Tasklet>(s.nodes[tasklet].body).value, [&](const Expr& e) { return n += e.Is(ExprKind::kCall), true; });
  return n;
}

// Of tasklets side by side in one map: all of them have the same lanes.
class LaneCost {
 public:
  LaneCost(const Sdfg& s, std::vector<const Weighed*> tasklets, const schedule::Device& d) : s_(s), tasklets_(std::move(tasklets)), d_(d) {
    for (const Weighed* w : tasklets_) {
      if (w->leaf.target) Add(*w, *w->leaf.target);
      for (const Access& a : w->leaf.reads)
        if (!IsWeight(*w, a)) Add(*w, a);
      calls_ += CallsOf(s, w->leaf.tasklet) * layout::TripsOf(w->leaf.ranges, d);
    }
  }
  double Least() const {
    double least = -1;
    for (const Range& r : tasklets_[0]->leaf.ranges) {
      if (AsInt(r.end - r.begin) == 1 || !MayBeLane(r.index)) continue;
      double across = 0;
      for (const auto& [at, touches] : accesses_)
        if (!RunsAlong(at, r.index)) across += touches;
      if (across > 0) across += calls_ * static_cast<double>(d_.turned_element);
      if (least < 0 || across < least) least = across;
    }
    return std::max(least, 0.0) * static_cast<double>(d_.turned_element);
  }

 private:
  // Weights are laid out as their sums want them.
  static bool IsWeight(const Weighed& w, const Access& a) {
    return w.sum && std::any_of(w.sum->weights.begin(), w.sum->weights.end(), [&](const Access& x) {
      return x.container == a.container && x.index == a.index;
    });
  }
  void Add(const Weighed& w, const Access& a) {
    if (s_.Get(a.container).shape.empty()) return;
    // What other sums read is copied again and again, as they are cut.
    const double touches = w.leaf.accumulates && !w.sum ? layout::TripsOf(w.leaf.ranges, d_) : TouchesOf(w.leaf, a, d_);
    accesses_.emplace_back(OffsetOf(s_, a.container, a.index, a.flat), touches);
  }
  // Registers that are arrays are lanes by their own indices.
  bool MayBeLane(Name index) const {
    return std::all_of(tasklets_.begin(), tasklets_.end(), [&](const Weighed* w) {
      const auto& [lanes, registers] = std::tie(w->leaf.lanes, w->leaf.registers);
      return std::find(lanes.begin(), lanes.end(), index) != lanes.end() &&
             std::all_of(registers.begin(), registers.end(), [&](const Access& a) { return a.index.empty() || Speaks(a, index); });
    });
  }
  static bool RunsAlong(const Offset& at, Name index) {
    if (!at.elements) return false;
    const auto by = Coefficient(at.elements, index);
    return by && (AsInt(*by) == 0 || AsInt(*by) == 1 || AsInt(*by) == -1);
  }

  const Sdfg& s_;
  std::vector<const Weighed*> tasklets_;
  const schedule::Device& d_;
  std::vector<std::pair<Offset, double>> accesses_;
  double calls_ = 0;
};

// Across memory, map by map.
double AcrossOf(const Sdfg& s, const std::vector<Weighed>& statement, const schedule::Device& d) {
  double cost = 0;
  std::vector<const Weighed*> beside;
  for (size_t i = 0; i < statement.size(); ++i) {
    beside.push_back(&statement[i]);
    if (i + 1 < statement.size() && statement[i + 1].leaf.map == statement[i].leaf.map) continue;
    cost += LaneCost(s, std::move(beside), d).Least();
    beside.clear();
  }
  return cost;
}

bool IsInnermost(const Sdfg& s, const ImageSum& sum, const Access& a) {
  return AsInt(StridesOf(s.Get(a.container))[sum.channel]) == 1;
}
bool AnyInnermost(const Sdfg& s, const ImageSum& sum) {
  return std::any_of(sum.images.begin(), sum.images.end(), [&](const Access& a) { return IsInnermost(s, sum, a); });
}

// What can't have its channels side by side is no reason that others shouldn't. But lanes are those of the result: where it stays
// as it is, nothing is gained.
bool Gains(const Sdfg& s, const ImageSum& sum, const std::function<bool(Name)>& may_turn) {
  const bool lanes = sum.lane.empty() ? AnyInnermost(s, sum) : IsInnermost(s, sum, sum.images.back());
  return lanes && std::none_of(sum.images.begin(), sum.images.end(), [&](const Access& a) {
           return !IsInnermost(s, sum, a) && may_turn(a.root);
         });
}

// How many lanes its channels fill of the vectors that hold them, where they are side by side.
double LanesFilled(const Sdfg& s, const ImageSum& sum, const schedule::Device& d) {
  double least = 1;
  const bool forward = !sum.lane.empty();  // lanes are the channels of the result
  for (size_t i = forward ? sum.images.size() - 1 : 0; i < sum.images.size(); ++i) {
    const Container& c = s.Get(sum.images[i].container);
    if (!IsInnermost(s, sum, sum.images[i])) continue;
    const double lanes = std::max<double>(1, static_cast<double>(d.vector_bytes) / static_cast<double>(ByteSize(c.dtype)));
    const double channels = sum.group > 0 ? static_cast<double>(sum.group) : std::max(1.0, SizeOf(c.shape[sum.channel], d));
    least = std::min(least, channels / (std::ceil(channels / lanes) * lanes));
  }
  return least;
}

// What a sum of groups loses by channels side by side, in shares of its operations. Each group is computed for itself: lanes that are half
// full do as well as rows, and their gradient of weights lays every window out across memory.
double LossOfGroups(const Sdfg& s, const ImageSum& sum, const schedule::Device& d) {
  if (sum.group == 0 || !AnyInnermost(s, sum)) return 0;
  const double vectors = 1 / LanesFilled(s, sum, d);
  return sum.kind == ImageSum::kWeights ? 4 * vectors : std::max(0.0, vectors - 2);
}

}  // namespace

double SizeOf(const Expr& e, const schedule::Device& d) {
  NameMap guess;
  for (Name n : FreeSymbols(e)) guess.emplace_back(n, Expr(d.symbol_size));
  const auto n = AsInt(guess.empty() ? e : Simplify(Substitute(e, guess)));
  return static_cast<double>(n.value_or(d.symbol_size));
}

double TripsOf(const std::vector<Range>& ranges, const schedule::Device& d) {
  double n = 1;
  for (const Range& r : ranges) n *= TripsOf(r, d);
  return n;
}

std::vector<Weighed> Weigh(const Sdfg& s, std::vector<Leaf> leaves) {
  std::vector<Weighed> out;
  for (Leaf& l : leaves) {
    auto sum = ImageSumOf(s, l);
    out.push_back({std::move(l), std::move(sum)});
  }
  return out;
}

double CostOf(const Sdfg& s, const std::vector<Weighed>& statement, const schedule::Device& d,
              const std::function<bool(Name)>& may_turn, const std::function<bool()>& is_tiled) {
  double cost = AcrossOf(s, statement, d);
  for (const Weighed& w : statement) {
    if (!w.sum) continue;
    const double work = TripsOf(w.leaf.ranges, d);
    if (w.sum->kind == ImageSum::kWeights && AnyInnermost(s, *w.sum)) cost += work * static_cast<double>(d.weight_gradient_loss) / 100;
    cost += work * LossOfGroups(s, *w.sum, d);
    if (!Gains(s, *w.sum, may_turn)) continue;
    if (!is_tiled()) {  // each of its terms walks across memory
      cost += work * static_cast<double>(d.turned_element);
      continue;
    }
    const int64_t percent = w.sum->kind == ImageSum::kWindow ? d.window_gain : d.channel_sum_gain;
    if (w.sum->group == 0) cost += work * (1 / LanesFilled(s, *w.sum, d) - 1);
    cost -= work * static_cast<double>(percent) / 100;
  }
  return cost;
}

}  // namespace headrace::layout
