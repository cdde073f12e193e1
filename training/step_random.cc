// Dropout and its like draw numbers by uniform(seed, place), where the seed is an attribute: the same mask in every run. In
// training it is another one in every step, and the same one again when the step is repeated:
//
//   mask[i] = uniform(7, i) >= p    →    random_0 = hash of (7 or number of the node, seed, step)
//                                        mask[i] = uniform(random_0, i) >= p
//
// The gradient pass sees functions of inputs like any other, so its masks are those of the forward pass.
#include <algorithm>
#include <optional>
#include <set>

#include "training/step_internal.h"

namespace headrace::training {
namespace {

constexpr int64_t kMark = int64_t{1} << 40;  // seeds of marked nodes: kMark + number

bool IsRandom(const Expr& e) {
  return e.Is(ExprKind::kCall) && (e->name == Name("uniform") || e->name == Name("normal"));
}

// Operators whose meaning draws numbers.
std::set<std::pair<std::string, std::string>> RandomOps(const Registry& r) {
  std::set<std::pair<std::string, std::string>> out;
  for (const OpDefinition* d : r.Definitions())
    if (d->pure.find("uniform(") != std::string::npos || d->pure.find("normal(") != std::string::npos)
      out.emplace(d->domain, d->name);
  return out;
}

// 48 bits that follow from `key` and `n` alone.
Expr Hash(const Expr& key, const Expr& n) {
  auto bits = [&](int64_t k) {  // uniform() is a multiple of 2^-24
    const Expr place = BinaryExpr(Op::kAdd, BinaryExpr(Op::kMul, n, IntExpr(2)), IntExpr(k));
    const Expr draw = CastExpr(DType::kF64, CallExpr(Name("uniform"), {key, place}));
    return CastExpr(DType::kI64, BinaryExpr(Op::kMul, draw, FloatExpr(0x1p24)));
  };
  return BinaryExpr(Op::kAdd, BinaryExpr(Op::kMul, bits(0), IntExpr(int64_t{1} << 24)), bits(1));
}

struct Marked {
  std::string node;
  std::optional<int64_t> own;  // the seed that the model gives; others draw by their place in it
};

class Seeding {
 public:
  Seeding(Program* p, const Registry& r, Name* seed, Name* step) : p_(p), r_(r), seed_(seed), step_(step) {}

  Result<bool> Run() {
    random_ = RandomOps(r_);
    bool nested = false, any = false;
    for (const auto& s : p_->sdfgs)
      ForEachNode(*s, [&](NodeId n) {
        if (!Random(*s, n)) return;
        any = true;
        nested |= s->name != p_->entry;
      });
    if (!any) return false;
    // Each call of a function draws for itself.
    if (nested) HR_RETURN_IF_ERROR(RunPipeline(r_, "inline-nested{everywhere=true}", *p_));
    HR_RETURN_IF_ERROR(Mark());
    for (const auto& [domain, op] : used_)
      HR_RETURN_IF_ERROR(RunPipeline(r_, "expand-library-nodes{only=" + domain + "." + op + "}", *p_));
    return Replace();
  }

 private:
  bool Random(const Sdfg& s, NodeId n) const {
    auto* l = std::get_if<Library>(&s.nodes[n].body);
    return l && random_.count({l->domain.str(), l->op.str()}) && !Still(*l);
  }
  // Dropout of opset 1 to 6, whose mask no seed changes; is_test is 0 by default.
  static bool TrainsByAttribute(const Library& l) {
    if (l.op != Name("Dropout") || l.domain != Name("onnx") || l.version < 1 || l.version > 6) return false;
    const Attribute* a = FindAttribute(l.attributes, "is_test");
    const auto* test = a ? std::get_if<int64_t>(&a->value) : nullptr;
    return !test || *test == 0;
  }
  // Dropout that says itself that it drops nothing.
  static bool Still(const Library& l) {
    return l.op == Name("Dropout") && l.domain == Name("onnx") && !TrainsByAttribute(l) &&
           std::none_of(l.inputs.begin(), l.inputs.end(),
                        [](const Port& p) { return p.name == Name("training_mode") && !p.container.empty(); });
  }

  // Each random node gets a seed of its own, by which its draws are known after the expansion.
  Status Mark() {
    Status status;
    for (const auto& shared : std::vector<std::shared_ptr<Sdfg>>(p_->sdfgs)) {
      std::vector<NodeId> nodes;
      ForEachNode(*shared, [&](NodeId n) {
        if (Random(*shared, n)) nodes.push_back(n);
      });
      if (!nodes.empty() && shared->name != p_->entry)
        return StepError("E0916", ErrorKind::kUnsupported, "a random operator inside a function that can't be inlined",
                         "", shared->nodes[nodes[0]].origin.Label());
      for (NodeId n : nodes)
        if (TrainsByAttribute(std::get<Library>(shared->nodes[n].body)))
          return StepError("E0916", ErrorKind::kUnsupported, "Dropout that drops has one mask for all steps before opset 12",
                           "convert the model to opset 12 or later, or set is_test = 1", shared->nodes[n].origin.Label());
      for (NodeId n : nodes) MarkNode(n);
    }
    return status;
  }
  void MarkNode(NodeId n) {
    Sdfg& s = p_->MutableEntry();
    Library l = std::get<Library>(s.nodes[n].body);
    const OpSignature* op = r_.FindOp(l.domain.str(), l.op.str(), l.version);
    bool real = false;
    if (op)
      for (const AttributeSignature& a : op->attributes) real |= a.name == "seed" && a.type == AttributeType::kFloat;
    Marked m;
    m.node = s.nodes[n].origin.Label();
    if (const Attribute* a = FindAttribute(l.attributes, "seed")) {
      if (auto* i = std::get_if<int64_t>(&a->value)) m.own = *i;
      else if (auto* d = std::get_if<double>(&a->value)) m.own = static_cast<int64_t>(*d);
    }
    const int64_t mark = kMark + static_cast<int64_t>(marked_.size());
    l.attributes.erase(
        std::remove_if(l.attributes.begin(), l.attributes.end(), [](const auto& a) { return a.first == Name("seed"); }),
        l.attributes.end());
    l.attributes.emplace_back(Name("seed"), real ? Attribute{static_cast<double>(mark)} : Attribute{mark});
    std::sort(l.attributes.begin(), l.attributes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    used_.emplace(l.domain.str(), l.op.str());
    marked_.push_back(m);
    s.nodes.Mutable(n).body = std::move(l);
  }

  // Marked seeds become hashes, which loops around turn with their counters.
  Result<bool> Replace() {
    Sdfg& s = p_->MutableEntry();
    *seed_ = AddParameter(&s, "seed", DType::kI64, {});
    if (step_) *step_ = AddParameter(&s, "step", DType::kI64, {});
    std::vector<BlockId> first;
    for (size_t k = 0; k < marked_.size(); ++k) {
      Container c;
      c.name = s.FreshName("random_" + std::to_string(k));
      c.dtype = DType::kI64;
      keys_.push_back(c.name);
      s.Add(std::move(c));
      Tasklet t;
      t.target = keys_.back();
      const Expr seed = ReadExpr(*seed_, {}), now = step_ ? ReadExpr(*step_, {}) : IntExpr(0);
      t.value = marked_[k].own ? Hash(IntExpr(*marked_[k].own), Hash(seed, now))
                               : Hash(BinaryExpr(Op::kAdd, seed, IntExpr(static_cast<int64_t>(k))), now);
      const NodeId id = s.AddNode(std::move(t), {Name(marked_[k].node), Name()});
      first.push_back(s.AddBlock(State{{}, {id}}));
    }
    HR_RETURN_IF_ERROR(In(s.body, {}));
    s.body.insert(s.body.begin(), first.begin(), first.end());
    return true;
  }
  Status In(const std::vector<BlockId>& body, std::vector<Name> counters) {
    Sdfg& s = p_->MutableEntry();
    for (BlockId b : body) {
      const Control c = s.blocks[b].control;
      if (auto* st = std::get_if<State>(&c)) {
        for (NodeId n : st->statements) HR_RETURN_IF_ERROR(Statement(n, counters));
      } else if (auto* l = std::get_if<Loop>(&c)) {
        std::vector<Name> inner = counters;
        inner.push_back(l->var);
        HR_RETURN_IF_ERROR(In(l->body, inner));
      } else if (auto* d = std::get_if<Conditional>(&c)) {
        for (const Branch& branch : d->branches) HR_RETURN_IF_ERROR(In(branch.body, counters));
      }
    }
    return {};
  }
  Status Statement(NodeId n, const std::vector<Name>& counters) {
    Sdfg& s = p_->MutableEntry();
    if (auto* m = std::get_if<Map>(&s.nodes[n].body)) {
      for (NodeId inner : std::vector<NodeId>(m->body)) HR_RETURN_IF_ERROR(Statement(inner, counters));
      return {};
    }
    auto* t = std::get_if<Tasklet>(&s.nodes[n].body);
    if (!t) return {};
    Status status;
    const Expr value = Transform(t->value, [&](const Expr& e) {
      if (!IsRandom(e) || !status.ok()) return e;
      const std::optional<int64_t> mark = AsInt(Simplify(e->args[0]));
      const int64_t k = mark ? *mark - kMark : -1;
      if (k < 0 || k >= static_cast<int64_t>(keys_.size())) return e;  // numbers that the program itself seeds
      Expr key = ReadExpr(keys_[static_cast<size_t>(k)], {});
      for (Name counter : counters) {
        if (counter.empty())
          status =
              StepError("E0917", ErrorKind::kUnsupported,
                        "a random operator in a loop that counts nothing would draw the same numbers in each round", "",
                        marked_[static_cast<size_t>(k)].node);
        else key = Hash(key, SymbolExpr(counter));
      }
      return CallExpr(e->name, {key, e->args[1]});
    });
    HR_RETURN_IF_ERROR(status);
    if (value != t->value) std::get<Tasklet>(s.nodes.Mutable(n).body).value = value;
    return {};
  }

  Program* p_;
  const Registry& r_;
  Name *seed_, *step_;
  std::set<std::pair<std::string, std::string>> random_, used_;
  std::vector<Marked> marked_;
  std::vector<Name> keys_;
};

}  // namespace

Result<bool> SeedRandomness(Program* p, const Registry& r, Name* seed, Name* step) {
  return Seeding(p, r, seed, step).Run();
}

}  // namespace headrace::training
