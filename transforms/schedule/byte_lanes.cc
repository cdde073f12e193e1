#include "transforms/schedule/byte_lanes.h"

#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"
#include "transforms/schedule/steps.h"

namespace headrace::schedule {
namespace {

using Statements = std::vector<NodeId>;

bool IsByte(DType t) { return t == DType::kU8 || t == DType::kI8; }

class Parter {
 public:
  Parter(Sdfg* s, int64_t lanes) : s_(s), lanes_(lanes) {}

  void In(NodeId owner) {
    Body body = s_->nodes[owner].body;
    bool changed = false;
    ForEachBody(&body, [&](Statements& list) {
      Statements out;
      for (NodeId n : list) {
        const auto parts = Parts(n, lanes_);
        if (!parts) In(n);
        changed |= parts.has_value();
        const Statements one = {n};
        out.insert(out.end(), (parts ? *parts : one).begin(), (parts ? *parts : one).end());
      }
      list = std::move(out);
    });
    if (changed) s_->nodes.Mutable(owner).body = std::move(body);
  }

 private:
  // Of at least so many lanes that read or write bytes beside wider numbers; nullopt: they are others.
  std::optional<Statements> Parts(NodeId n, int64_t least) {
    const auto* m = std::get_if<Map>(&s_->nodes[n].body);
    if (!m || m->schedule != Schedule::kVector || m->ranges.size() != 1) return std::nullopt;
    const Range range = m->ranges[0];
    const auto count = AsInt(range.end);
    if (AsInt(range.begin) != 0 || !count || *count < least || (range.step && AsInt(range.step) != 1)) return std::nullopt;
    std::vector<Tasklet> body;
    for (NodeId inner : m->body) {
      const auto* t = std::get_if<Tasklet>(&s_->nodes[inner].body);
      if (!t || t->guarded || (t->op != WriteOp::kAssign && m->body.size() > 1)) return std::nullopt;
      body.push_back(*t);
    }
    const bool bytes = EndsInBytes(body, range.index);
    const std::vector<Expr> reads = ByteReads(body, range.index);
    if (!bytes && (reads.empty() || !EndsInRegisters(body))) return std::nullopt;
    if (*count > lanes_ && *count % lanes_ != 0) return WithRest(n, *count / lanes_ * lanes_);
    Statements out;
    HoldWide(&body);
    for (const Expr& read : reads) {
      const Expr wide = Wide("w", *count, range.index);
      out.push_back(Lanes(
          range, {Tasklet{wide->name, {wide->args[0]}, false, false, WriteOp::kAssign, CastExpr(DType::kI32, read)}}));
      for (Tasklet& t : body)
        t.value = Transform(t.value, [&](const Expr& e) {
          return e.Is(ExprKind::kCast) && e->args[0] == read ? WithArgs(e, {wide}) : e;
        });
    }
    if (!bytes) {
      out.push_back(Lanes(range, body));
      return out;
    }
    Tasklet last = body.back();
    const Expr rounded = *count % lanes_ == 0 ? RoundedOf(last.value, range.index) : Expr();
    if (rounded) {
      const Expr held = Held("v", DType::kF32, *count, range.index);
      body.back() = {held->name, {held->args[0]}, false, false, WriteOp::kAssign, rounded};
      out.push_back(Lanes(range, body));
      last.value = Transform(last.value, [&](const Expr& e) { return IsRint(e) ? CallExpr("rint", {held}) : e; });
      out.push_back(Lanes(range, {last}));
      return out;
    }
    const Expr wide = Wide("q", *count, range.index);
    body.back() = {wide->name, {wide->args[0]}, false, false, WriteOp::kAssign, CastExpr(DType::kI32, last.value)};
    out.push_back(Lanes(range, body));
    last.value = CastExpr(s_->Get(last.target).dtype, wide);
    out.push_back(Lanes(range, {last}));
    return out;
  }

  // Whole vectors, and the lanes that are left: half a vector or more of them in lanes by themselves, too.
  Statements WithRest(NodeId n, int64_t whole) {
    Map first = std::get<Map>(s_->nodes[n].body), rest = first;
    const Range& range = first.ranges[0];
    const NameMap behind = {{range.index, SymbolExpr(range.index) + Expr(whole)}};
    rest.ranges[0].end = range.end - Expr(whole);
    first.ranges[0].end = Expr(whole);
    rest.body.clear();
    std::vector<Tasklet> body;
    for (NodeId inner : first.body) body.push_back(std::get<Tasklet>(s_->nodes[inner].body));
    for (Tasklet t : WithOwnRegisters(s_, std::move(body))) {
      t.value = Substitute(t.value, behind);
      for (Expr& e : t.index) e = Substitute(e, behind);
      rest.body.push_back(s_->AddNode(std::move(t)));
    }
    const NodeId head = s_->AddNode(std::move(first)), tail = s_->AddNode(std::move(rest));
    Statements out = *Parts(head, lanes_);
    const auto left = Parts(tail, std::max<int64_t>(2, lanes_ / 2));
    Add(&out, left ? *left : Statements{tail});
    return out;
  }

  // Bytes that are held between two statements are numbers of 32 bits wherever they are read as wider ones.
  void HoldWide(std::vector<Tasklet>* body) {
    for (size_t k = 0; k + 1 < body->size(); ++k) {
      Tasklet& t = (*body)[k];
      const DType type = s_->Get(t.target).dtype;
      const Expr held = ReadExpr(t.target, {});
      if (!IsByte(type) || t.op != WriteOp::kAssign || !IsReadWide(*body, held)) continue;
      const Expr wide = ReadExpr(Local(s_, t.target.str() + "_wide", DType::kI32, {}, Storage::kRegister), {});
      t.target = wide->name, t.value = CastExpr(DType::kI32, CastExpr(type, t.value));
      if (t.value->args[0]->args[0].Is(ExprKind::kCast) && t.value->args[0]->args[0]->dtype == type)
        t.value = CastExpr(DType::kI32, t.value->args[0]->args[0]);
      for (Tasklet& later : *body)
        later.value = Transform(later.value, [&](const Expr& e) { return IsWideCast(e) && e->args[0] == held ? WithArgs(e, {wide}) : e; });
    }
  }
  static bool IsWideCast(const Expr& e) { return e.Is(ExprKind::kCast) && !e->saturate && ByteSize(e->dtype) >= 4; }
  // One statement gives it its value.
  static bool IsReadWide(const std::vector<Tasklet>& body, const Expr& held) {
    int writers = 0;
    bool wide = true;
    for (const Tasklet& t : body) {
      writers += t.target == held->name;
      Visit(t.value, [&](const Expr& e) {
        if (IsWideCast(e) && e->args[0] == held) return false;
        wide &= e != held;
        return true;
      });
    }
    return writers == 1 && wide;
  }

  static bool IsRint(const Expr& e) { return e.Is(ExprKind::kCall) && e->name == Name("rint"); }
  // x of `sat(rint(x) + f32(z), u8)`, in f32, where all lanes have the byte z; null: it is none.
  Expr RoundedOf(const Expr& e, Name lane) const {
    Expr rint = e->args[0];
    if (rint.Is(ExprKind::kBinary) && rint->op == Op::kAdd) {
      const Expr& zero = rint->args[1];
      const bool byte = zero.Is(ExprKind::kCast) && zero->dtype == DType::kF32 && zero->args[0].Is(ExprKind::kRead) &&
                        !zero->args[0]->has_default && IsByte(s_->Get(zero->args[0]->name).dtype) && !Mentions(zero, lane);
      if (!byte) return {};
      rint = rint->args[0];
    }
    if (!IsRint(rint)) return {};
    const Result<Expr> typed = InferTypes(*s_, rint);
    return typed.ok() && (*typed)->dtype == DType::kF32 ? rint->args[0] : Expr();
  }

  // All but the last statement hold numbers in registers.
  bool LastWrites(const std::vector<Tasklet>& body) const {
    for (size_t k = 0; k + 1 < body.size(); ++k)
      if (s_->Get(body[k].target).storage != Storage::kRegister || !body[k].index.empty()) return false;
    return !body.empty();
  }
  // It writes registers of 32 bits for each lane; a plain copy has lanes of its own already.
  bool EndsInRegisters(const std::vector<Tasklet>& body) const {
    if (!LastWrites(body)) return false;
    const Container& to = s_->Get(body.back().target);
    const bool copies = body.size() == 1 && body[0].op == WriteOp::kAssign && body[0].value.Is(ExprKind::kCast) &&
                        body[0].value->args[0].Is(ExprKind::kRead);
    return to.storage == Storage::kRegister && !body.back().index.empty() && ByteSize(to.dtype) == 4 && !copies;
  }
  // It writes bytes that are computed with wider numbers, side by side.
  bool EndsInBytes(const std::vector<Tasklet>& body, Name lane) const {
    if (!LastWrites(body) || body.back().op != WriteOp::kAssign || !body.back().value.Is(ExprKind::kCast) ||
        !body.back().value->saturate)
      return false;
    const Tasklet& last = body.back();
    return IsByte(s_->Get(last.target).dtype) && last.value->dtype == s_->Get(last.target).dtype &&
           IsAlong(last.target, last.index, last.flat, lane);
  }

  bool IsAlong(Name container, const std::vector<Expr>& index, bool flat, Name lane) const {
    const Offset at = OffsetOf(*s_, container, index, flat);
    const auto by = at.elements ? Coefficient(at.elements, lane) : std::nullopt;
    return by && AsInt(*by) == 1 && s_->Get(RootOf(*s_, container)).storage != Storage::kRegister;
  }

  // Of memory along the lanes, each once, that are converted wherever they are read.
  std::vector<Expr> ByteReads(const std::vector<Tasklet>& body, Name lane) const {
    std::vector<Expr> out;
    for (const Tasklet& t : body)
      Visit(t.value, [&](const Expr& e) {
        if (!e.Is(ExprKind::kCast) || !e->args[0].Is(ExprKind::kRead)) return true;
        const Expr& read = e->args[0];
        const bool bytes = !read->has_default && IsByte(s_->Get(read->name).dtype) && ByteSize(e->dtype) >= 4;
        if (bytes && std::all_of(read->args.begin(), read->args.end(), IsIndexExpr) &&
            IsAlong(read->name, read->args, read->flat, lane) && std::find(out.begin(), out.end(), read) == out.end())
          out.push_back(read);
        return false;
      });
    return out;
  }

  Expr Wide(const std::string& stem, int64_t count, Name lane) { return Held(stem, DType::kI32, count, lane); }
  Expr Held(const std::string& stem, DType type, int64_t count, Name lane) {
    return ReadExpr(Local(s_, stem, type, {Expr(count)}, Storage::kRegister), {SymbolExpr(lane)});
  }
  NodeId Lanes(const Range& range, const std::vector<Tasklet>& body) {
    Statements inside;
    for (const Tasklet& t : body) inside.push_back(s_->AddNode(t));
    return Wrap(s_, {{{range}, Schedule::kVector}}, inside)[0];
  }

  Sdfg* s_;
  const int64_t lanes_;
};

}  // namespace

void PartByteLanes(Sdfg* s, int64_t lanes) {
  Parter parter(s, lanes);
  std::vector<NodeId> all;
  ForEachBlock(*s, s->body, [&](BlockId b) {
    if (const auto* state = std::get_if<State>(&s->blocks[b].control))
      all.insert(all.end(), state->statements.begin(), state->statements.end());
  });
  for (NodeId n : all) parter.In(n);
  Renumber(s);
}

}  // namespace headrace::schedule
