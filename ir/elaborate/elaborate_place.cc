// Places: the bracketed indices of a tensor, with groups, `..`, slices, spliced lists and placement, as one slot per dimension.
#include <algorithm>

#include "ir/elaborate/elaborate_internal.h"

namespace headrace {
namespace elaborate {
namespace {

std::string Count(size_t n, const char* what) {
  const std::string one = what, many = one == "index" ? "indices" : one == "axis" ? "axes" : one + "s";
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

struct Piece {
  std::vector<Slot> slots;
  int count = -1;                                         // dimensions it takes; -1: not known yet
  Name group;                                             // of unknown length
  bool ellipsis = false, placed = false, spread = false;  // spread: one value for all the placed dimensions
  std::vector<int64_t> axes;
};

}  // namespace

std::optional<int> Elaborator::GroupLength(Name n) const {
  if (auto it = fixed_length_.find(n); it != fixed_length_.end()) return it->second;
  if (auto it = length_.find(n); it != length_.end()) return it->second;
  if (use_remembered_) {
    if (auto it = remembered_length_.find(n); it != remembered_length_.end()) return it->second;
  }
  return std::nullopt;
}

void Elaborator::SolveGroup(Name n, int length, Place at) {
  if (length < 0) Fail(at, "no dimensions are left for '" + n.str() + "..'");
  std::optional<int> old = GroupLength(n);
  if (!old) {
    length_[n] = length;
    progress_ = true;
  } else if (*old != length) {
    Fail(at, "'" + n.str() + "..' has " + Count(*old, "dimension") + " elsewhere and " + Count(length, "dimension") +
                 " here");
  }
}

Val Elaborator::Group(Name n) {
  std::optional<int> length = GroupLength(n);
  if (!length) return Val::Unsolved();
  std::vector<Expr> items;
  for (int i = 0; i < *length; ++i) {
    const Name index("%" + n.str() + "." + std::to_string(i));
    Unbounded(index);
    items.push_back(SymbolExpr(index));
  }
  return Val::List(std::move(items));
}

std::optional<std::vector<Slot>> Elaborator::EvalPlace(const std::vector<Expr>& args, const Env& env, int rank,
                                                       const std::string& what, const std::vector<Expr>* shape,
                                                       Place at) {
  std::vector<Piece> pieces;
  int known = 0, unknown = 0;
  Piece* open = nullptr;
  pieces.reserve(args.size());
  for (const Expr& arg : args) {
    Piece p;
    Expr value = arg;
    if (arg.Is(ExprKind::kPlaced)) {
      value = arg->args[0];
      p.placed = true;
      Val axes = Eval(arg->args[1], env, {true});
      if (axes.unsolved()) return std::nullopt;
      if (axes.nothing())
        Fail(At(arg), "the axes after '@' are not set here: " + ToString(arg->args[1]), "give a default: axes ?: …");
      if (axes.kind == Val::kScalar) axes = Val::List({axes.e});
      for (const Expr& a : axes.items) {
        std::optional<int64_t> v = AsInt(AsIndexLiteral(a));
        if (!v)
          Fail(At(arg), "the axes after '@' must be known before the run: " + ToString(a), "", ErrorKind::kUnsupported);
        if (rank >= 0 && (*v < -rank || *v >= rank))
          Fail(At(arg),
               "axis " + std::to_string(*v) + " is out of range: '" + what + "' has " + Count(rank, "dimension"));
        p.axes.push_back(*v < 0 && rank >= 0 ? *v + rank : *v);
      }
      p.count = static_cast<int>(p.axes.size());
    }
    if (value.Is(ExprKind::kEllipsis)) {
      p.ellipsis = true;
    } else if (value.Is(ExprKind::kColon)) {
      Slot slot;
      slot.begin = value->args.empty() ? 0 : EvalInt(value->args[0], env, "a slice's begin");
      slot.end = value->args.empty() ? -1 : EvalInt(value->args[1], env, "a slice's end");
      p.slots.push_back(slot);
      p.count = 1;
    } else if (value.Is(ExprKind::kGroup) && Resolve(value->name, env, nullptr) == Resolved::kGroup) {
      if (!GroupLength(value->name) && p.placed) SolveGroup(value->name, p.count, At(arg));
      Val v = Group(value->name);
      if (v.unsolved()) {
        p.group = value->name;
      } else {
        for (const Expr& e : v.items) p.slots.push_back({e, 0, 0, true});
        if (p.placed && p.count != static_cast<int>(v.items.size()))
          Fail(At(arg), "'" + value->name.str() + "..' has " + Count(v.items.size(), "dimension") + ", but " +
                            Count(p.count, "axis") + " are given after '@'");
        p.count = static_cast<int>(v.items.size());
      }
    } else {
      Val v = Eval(value.Is(ExprKind::kSplice) ? value->args[0] : value, env, {true});
      if (v.unsolved()) return std::nullopt;
      if (v.kind == Val::kScalar) {
        const bool bare = value.Is(ExprKind::kSymbol) && Resolve(value->name, env, nullptr) == Resolved::kIndex;
        p.slots.push_back({AsIndexLiteral(v.e), 0, 0, bare});
        if (!p.placed) p.count = 1;
        p.spread = p.placed && p.count != 1;
      } else if (v.kind == Val::kList) {
        for (const Expr& e : v.items) p.slots.push_back({AsIndexLiteral(e)});
        if (p.placed && p.count != static_cast<int>(v.items.size()))
          Fail(At(arg), "a list of " + std::to_string(v.items.size()) + " is placed at " + Count(p.count, "axis"));
        p.count = static_cast<int>(v.items.size());
      } else if (v.nothing()) {
        Fail(At(arg).line ? At(arg) : at, "there is nothing here to index with: " + ToString(value),
             "give a default with ?:");
      } else {
        Fail(At(arg).line ? At(arg) : at, "an index must be a number, found " + ToString(value));
      }
    }
    pieces.push_back(std::move(p));
    if (pieces.back().count >= 0) known += pieces.back().count;
    else ++unknown, open = &pieces.back();
  }
  if (rank < 0) {  // a new temporary: its rank is the sum; `..` is the statement's longest
    for (Piece& p : pieces) {
      if (p.count >= 0) continue;
      if (!p.ellipsis) return std::nullopt;
      p.count = ellipsis_rank_;
      known += p.count;
      --unknown;
    }
    rank = known;
    for (Piece& p : pieces)
      for (int64_t& a : p.axes) a = a < 0 ? a + rank : a;
  }
  if (unknown > 1) return std::nullopt;
  if (unknown == 1) {
    const int rest = rank - known;
    if (rest < 0)
      Fail(at, "'" + what + "' has " + Count(rank, "dimension") + ", but " + std::to_string(known) +
                   " or more indices are given");
    open->count = rest;
    if (!open->ellipsis) {
      SolveGroup(open->group, rest, at);
      for (const Expr& e : Group(open->group).items) open->slots.push_back({e, 0, 0, true});
    }
  } else if (known != rank) {
    Fail(at, "'" + what + "' has " + Count(rank, "dimension") + ", but " + Count(known, "index") +
                 (known == 1 ? " is" : " are") + " given");
  }
  std::vector<Slot> out(rank);
  std::vector<bool> taken(rank, false);
  for (const Piece& p : pieces) {
    if (!p.placed) continue;
    for (size_t i = 0; i < p.axes.size(); ++i) {
      if (p.axes[i] < 0 || p.axes[i] >= rank || taken[p.axes[i]])
        Fail(at, "axis " + std::to_string(p.axes[i]) + " is given twice or out of range for '" + what + "'");
      taken[p.axes[i]] = true;
      out[p.axes[i]] = p.slots[p.spread || p.slots.size() == 1 ? 0 : i];
    }
  }
  int next = 0;
  for (Piece& p : pieces) {
    if (p.placed) continue;
    if (p.ellipsis) {
      ellipsis_rank_ = std::max(ellipsis_rank_, p.count);
      for (int i = p.count - 1; i >= 0; --i) p.slots.push_back({SymbolExpr("%." + std::to_string(i)), 0, 0, true});
    }
    for (const Slot& slot : p.slots) {
      while (next < rank && taken[next]) ++next;
      HR_CHECK(next < rank, "placement of " + what);
      out[next++] = slot;
    }
  }
  for (int i = 0; i < rank; ++i) {
    if (out[i].e) continue;
    std::optional<int64_t> extent = shape ? AsInt((*shape)[i]) : std::nullopt;
    if (out[i].end < 0) {
      if (!extent)
        Fail(at,
             "':' needs a dimension of known size, '" + what + "' has " +
                 (shape ? ToString((*shape)[i]) : "an open one"),
             shape && (*shape)[i].Is(ExprKind::kSymbol) ? ToString((*shape)[i]) + " must be a number when this is compiled" : "", ErrorKind::kUnsupported);
      out[i].end = *extent;
    } else if (extent) {
      out[i].end = std::min(out[i].end, *extent);
    }
  }
  return out;
}

Val Elaborator::ReadSlots(Name container, const std::vector<Slot>& slots, const Val& dflt, bool flat, Context c) {
  std::vector<Expr> index;
  int slice = -1;
  for (size_t i = 0; i < slots.size(); ++i) {
    index.push_back(slots[i].e ? slots[i].e : IntExpr(0));
    if (slots[i].e) continue;
    if (slice >= 0) Fail({}, "only one ':' can stand in a read of '" + container.str() + "'");
    slice = static_cast<int>(i);
  }
  const std::vector<Expr>& shape = s_.Get(container).shape;
  auto read = [&](const std::vector<Expr>& at) -> Expr {
    if (c.list && has_known_.count(container)) {
      const std::vector<Expr>& elements = known_[container];
      int64_t offset = 0;
      bool constant = true;
      for (size_t i = 0; i < at.size() && constant; ++i) {
        std::optional<int64_t> v = AsInt(at[i]), d = flat ? std::optional<int64_t>(1) : AsInt(shape[i]);
        constant = v && d && *v >= 0 && (flat || *v < *d);
        if (constant) offset = offset * *d + *v;
      }
      if (constant && offset < static_cast<int64_t>(elements.size())) return elements[offset];
    }
    return ReadExpr(container, at, dflt.kind == Val::kScalar ? dflt.e : Expr(), flat);
  };
  if (slice < 0) return Val::Scalar(read(index));
  constexpr int64_t kMaxListed = 1 << 16;  // longer ones are data, not lists of sizes
  if (slots[slice].end - slots[slice].begin > kMaxListed)
    Fail({}, "'" + container.str() +
                 "' has too many elements for a list: " + std::to_string(slots[slice].end - slots[slice].begin));
  std::vector<Expr> items;
  for (int64_t i = slots[slice].begin; i < slots[slice].end; ++i) {
    index[slice] = IntExpr(i);
    items.push_back(read(index));
  }
  return Val::List(std::move(items));
}

}  // namespace elaborate
}  // namespace headrace
