// Values inside of a model's graphs as outputs of its program: what debugging looks at.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/analysis/dataflow.h"
#include "python/extension/bindings.h"

namespace headrace::python {
namespace {

// Each temporary is the output that the latest iteration leaves. What stands in a branch or loop may not run: a flag tells, an
// output, too, which is false before everything and true there, until an iteration around it, or its `if`, begins anew.
class AsOutputs {
 public:
  explicit AsOutputs(const Program& given) : p_(given), s_(p_.MutableEntry()) {
    Walk(s_.body, 0);
    const std::vector<Name> bound = FreeSymbols(s_);
    bound_.insert(bound.begin(), bound.end());
  }

  // Whether it can be one; `flag` is "" where it is always computed.
  bool Add(Name n, std::string* flag) {
    const Container* c = s_.Find(n);
    const auto at = first_.find(n);
    if (!c || at == first_.end() || c->kind != ContainerKind::kTransient || c->dtype == DType::kString || !c->row_major() || !SizesAreKnown(*c))
      return false;
    *flag = at->second == 0 ? "" : FlagOf(at->second).str();
    MakeParameter(n);
    return true;
  }

  Program Finish() {
    std::vector<Name> flags;
    for (size_t k = 1; k < regions_.size(); ++k) {
      const Region& r = regions_[k];
      if (r.flag.empty()) continue;
      flags.push_back(r.flag);
    }
    for (size_t k = 1; k < regions_.size(); ++k) {
      const Region& r = regions_[k];
      std::vector<std::pair<Name, bool>> set;
      for (size_t other = 1; other < regions_.size(); ++other)
        if (other != k && !regions_[other].flag.empty() && Restarts(k, other)) set.emplace_back(regions_[other].flag, false);
      if (!r.flag.empty()) set.emplace_back(r.flag, true);
      if (set.empty()) continue;
      Block block = s_.blocks[r.block];
      if (auto* loop = std::get_if<Loop>(&block.control)) PutFirst(set, &loop->body);
      else PutFirst(set, &std::get<Conditional>(block.control).branches[r.branch].body);
      s_.blocks.Mutable(r.block) = std::move(block);
    }
    std::vector<std::pair<Name, bool>> none;
    for (Name flag : flags) none.emplace_back(flag, false);
    if (!none.empty()) PutFirst(none, &s_.body);
    std::stable_partition(s_.order.begin(), s_.order.end(), [&](Name n) { return s_.Get(n).kind == ContainerKind::kParameter; });
    return std::move(p_);
  }

 private:
  struct Region {
    BlockId block;
    size_t branch;
    size_t parent;
    Name flag;
  };

  // Whether what `other` has computed is of the past where `region` begins: it stands in it, or in another branch of its `if`.
  bool Restarts(size_t region, size_t other) const {
    for (; other != 0; other = regions_[other].parent)
      if (other == region || regions_[other].block == regions_[region].block) return true;
    return false;
  }

  void Walk(const std::vector<BlockId>& body, size_t region) {
    const auto inside = [&](BlockId block, size_t branch, const std::vector<BlockId>& blocks) {
      regions_.push_back({block, branch, region, Name()});
      Walk(blocks, regions_.size() - 1);
    };
    for (BlockId b : body) {
      const Control control = s_.blocks[b].control;
      if (const auto* state = std::get_if<State>(&control)) {
        for (NodeId n : state->statements)
          for (const Touched& t : TouchedBy(p_, s_, n))
            if (t.write) first_.emplace(t.root, region);
      } else if (const auto* loop = std::get_if<Loop>(&control)) {
        inside(b, 0, loop->body);
      } else if (const auto* conditional = std::get_if<Conditional>(&control)) {
        for (size_t k = 0; k < conditional->branches.size(); ++k) inside(b, k, conditional->branches[k].body);
      } else if (const auto* let = std::get_if<Assign>(&control); let && region == 0) {
        lets_.insert(let->symbol);
      }
    }
  }

  // Where outputs are made: at the beginning, or behind the `let` of a size that stands alone.
  bool SizesAreKnown(const Container& c) const {
    return std::all_of(c.shape.begin(), c.shape.end(), [&](const Expr& d) {
      if (d.Is(ExprKind::kSymbol) && lets_.count(d->name)) return true;
      const std::vector<Name> names = FreeSymbols(d);
      return std::all_of(names.begin(), names.end(), [&](Name n) { return bound_.count(n) > 0; });
    });
  }

  void MakeParameter(Name n) {
    Container& c = s_.Mutable(n);
    c.kind = ContainerKind::kParameter;
    c.storage = Storage::kArena;
    c.place = {};
    s_.parameters.push_back(n);
  }

  Name FlagOf(size_t region) {
    Name& flag = regions_[region].flag;
    if (!flag.empty()) return flag;
    flag = s_.FreshName("ran");
    Container c;
    c.name = flag, c.dtype = DType::kBool;
    s_.Add(c);
    MakeParameter(flag);
    return flag;
  }

  void PutFirst(const std::vector<std::pair<Name, bool>>& flags, std::vector<BlockId>* body) {
    State state;
    for (const auto& [flag, value] : flags) {
      Tasklet t;
      t.target = flag, t.value = BoolExpr(value);
      state.statements.push_back(s_.AddNode(std::move(t)));
    }
    body->insert(body->begin(), s_.AddBlock(std::move(state)));
  }

  Program p_;
  Sdfg& s_;
  std::vector<Region> regions_ = {Region{}};  // the first is the program itself
  std::map<Name, size_t> first_;              // where each container is first written
  std::set<Name> lets_, bound_;
};

// (program, [(container, flag or "")] of those that are outputs now, behind all others).
nb::tuple WithOutputs(const Program& program, const std::vector<std::string>& containers) {
  AsOutputs made(program);
  nb::list all;
  for (const std::string& c : containers)
    if (std::string flag; made.Add(Name(c), &flag)) all.append(nb::make_tuple(c, flag));
  return nb::make_tuple(made.Finish(), all);
}

}  // namespace

void BindInnerValues(nb::module_& m) {
  m.def("with_outputs", &WithOutputs, nb::arg("program"), nb::arg("containers"),
        "Turns temporaries into outputs, last of all: (program, [(container, output that tells whether it was computed, or \"\")])");
}

}  // namespace headrace::python
