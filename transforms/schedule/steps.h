// The steps that schedules are made of. Each keeps what the kernel computes; each is a transformation that `opt --apply` takes.
#pragma once
#include <algorithm>
#include <iterator>
#include <vector>

#include "transforms/schedule/nest.h"

namespace headrace::schedule {

// Bounds of a range as 0:trips, with the index replaced in what it ranges over; false where its step is not known.
//   map i in a:b:2 { Y[i] = … }  →  map i in 0:(b - a + 1) // 2 { Y[2*i + a] = … }
bool Normalize(Sdfg* s, Nest* n, size_t range);

// Two ranges that walk every array as one: a dimension each, side by side, the inner one whole. Arrays get views.
//   map i in 0:N, j in 0:M { Y[i, j] = X[i, j] + 1 }  →  view v: f32[N*M] of Y … map i in 0:N*M { v[i] = w[i] + 1 }
bool CanCollapse(const Sdfg& s, const Nest& n, size_t outer, size_t inner);
void Collapse(Sdfg* s, Nest* n, size_t outer, size_t inner);

// A range of which some index takes the group, o // 68, is two: the group and what lies in it. Arrays get views.
//   map o in 0:272, k in 0:68 { Y[o] += X[k + 68 * (o // 68)] * W[o, k] }
//     →  view y: f32[4, 68] of Y … map o0 in 0:4, o in 0:68, k in 0:68 { y[o0, o] += X[k + 68 * o0] * w[o0, o, k] }
// Of nests of tasklets. False where nothing changed.
bool SplitGroups(Sdfg* s, Nest* n);

// Cuts a range into parts of `length` (1 or more, a multiple of its step), the last one shorter: a range of begins, and one
// of what is in a part.
//   i in a:b  →  i0 in a:b:length, i in i0:+length
struct Cut {
  Range parts, within;
};
Cut Split(const Sdfg& s, const Range& r, const Expr& length, const std::vector<Name>& also_taken = {});
// What is in one part of `parts`, by `step`.
Range Within(const Range& parts, Name index, const Expr& step = Expr(1));

// Expressions in place of indices, in statements and all under them.
void SubstituteIn(Sdfg* s, const std::vector<NodeId>& body, const NameMap& indices);

inline void Add(std::vector<NodeId>* to, const std::vector<NodeId>& more) { to->insert(to->end(), more.begin(), more.end()); }
inline int64_t Ceil(int64_t n, int64_t by) { return (n + by - 1) / by; }  // parts of `by` that n elements have
// As far as it shows: 196 * N is one of 4.
inline bool IsMultiple(const Expr& n, int64_t of) { return of == 1 || AsInt(Mod(n, Expr(of))) == 0; }
inline Range UpTo(Name index, int64_t end, int64_t step = 1) { return {index, Expr(0), Expr(end), Expr(step)}; }

// Maps around `body`, outermost first; those without ranges are left out.
struct Level {
  std::vector<Range> ranges;
  Schedule schedule;
};
std::vector<NodeId> Wrap(Sdfg* s, const std::vector<Level>& levels, std::vector<NodeId> body);

// A container of the kernel's own, and a statement that stores `value` in one of its elements or adds it there.
Name Local(Sdfg* s, const std::string& stem, DType type, std::vector<Expr> shape, Storage storage);
NodeId Put(Sdfg* s, Name target, std::vector<Expr> index, WriteOp op, Expr value);

// Tasklets that run once more, elsewhere: what they write to registers of one number is in registers of their own there.
std::vector<Tasklet> WithOwnRegisters(Sdfg* s, std::vector<Tasklet> body);
// The index of a loop that is put around statements once they have schedules: as long as this lives, no fresh name is its own.
class Around {
 public:
  Around(Sdfg* s, Name index) : s_(s), index_(index) { s_->symbol_params.push_back(index); }
  ~Around() {
    const auto at = std::find(s_->symbol_params.rbegin(), s_->symbol_params.rend(), index_);
    if (at != s_->symbol_params.rend()) s_->symbol_params.erase(std::next(at).base());
  }
  Around(const Around&) = delete;
  Around& operator=(const Around&) = delete;

 private:
  Sdfg* s_;
  Name index_;
};

// A name that no container, size or index of the kernel has.
Name FreshIn(const Sdfg& s, const std::string& stem, const std::vector<Name>& also_taken = {});

}  // namespace headrace::schedule
