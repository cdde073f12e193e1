#include "transforms/layout/layout_cost.h"

#include <algorithm>

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

class LaneCost {
 public:
  LaneCost(const Sdfg& s, const Weighed& w, const schedule::Device& d) : s_(s), w_(w), d_(d) {
    if (w.leaf.target) Add(*w.leaf.target);
    for (const Access& a : w.leaf.reads)
      if (!IsWeight(a)) Add(a);
  }
  double Least() const {
    double least = -1;
    for (const Range& r : w_.leaf.ranges) {
      if (AsInt(r.end - r.begin) == 1 || !MayBeLane(r.index)) continue;
      double across = 0;
      for (const auto& [at, touches] : accesses_)
        if (!RunsAlong(at, r.index)) across += touches;
      if (least < 0 || across < least) least = across;
    }
    return std::max(least, 0.0) * static_cast<double>(d_.turned_element);
  }

 private:
  // Weights are laid out as their sums want them.
  bool IsWeight(const Access& a) const {
    return w_.sum && std::any_of(w_.sum->weights.begin(), w_.sum->weights.end(), [&](const Access& x) {
      return x.container == a.container && x.index == a.index;
    });
  }
  void Add(const Access& a) {
    if (s_.Get(a.container).shape.empty()) return;
    accesses_.emplace_back(OffsetOf(s_, a.container, a.index, a.flat), TouchesOf(w_.leaf, a, d_));
  }
  // Registers that are arrays are lanes by their own indices.
  bool MayBeLane(Name index) const {
    return std::all_of(w_.leaf.registers.begin(), w_.leaf.registers.end(),
                       [&](const Access& a) { return a.index.empty() || Speaks(a, index); });
  }
  static bool RunsAlong(const Offset& at, Name index) {
    if (!at.elements) return false;
    const auto by = Coefficient(at.elements, index);
    return by && (AsInt(*by) == 0 || AsInt(*by) == 1 || AsInt(*by) == -1);
  }

  const Sdfg& s_;
  const Weighed& w_;
  const schedule::Device& d_;
  std::vector<std::pair<Offset, double>> accesses_;
};

// What can't have its channels side by side is no reason that others shouldn't.
bool Gains(const Sdfg& s, const ImageSum& sum, const std::function<bool(Name)>& may_turn) {
  bool any = false;
  for (const Access& a : sum.images) {
    const bool innermost = AsInt(StridesOf(s.Get(a.container))[sum.channel]) == 1;
    if (!innermost && may_turn(a.root)) return false;
    any |= innermost;
  }
  return any;
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
              const std::function<bool(Name)>& may_turn) {
  double cost = 0;
  for (const Weighed& w : statement) {
    cost += LaneCost(s, w, d).Least();
    if (!w.sum || !Gains(s, *w.sum, may_turn)) continue;
    const int64_t percent = w.sum->kind == ImageSum::kChannels ? d.channel_sum_gain : d.window_gain;
    cost -= TripsOf(w.leaf.ranges, d) * static_cast<double>(percent) / 100;
  }
  return cost;
}

}  // namespace headrace::layout
