#include "transforms/integer_products.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"
#include "transforms/each_sdfg.h"
#include "transforms/inline.h"
#include "transforms/quantised.h"
#include "transforms/schedule/byte_windows.h"

namespace headrace {
namespace {

using namespace transforms;

bool MentionsAny(const Expr& e, const std::vector<Range>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& r) { return Mentions(e, r.index); });
}

// A sum of products that can be one of integers.
struct Found {
  uint32_t at = 0, initial = 0;  // positions of the sum and of what it starts at
  OneTasklet sum, first;
  std::vector<Range> terms, results;  // what is summed over, and the others
  Quantised left, right;     // a constant, if one is, on the right

  // It is one: of elements as they lie in memory.
  bool IsDone() const {
    const Expr& value = sum.tasklet.value;
    return std::all_of(value->args.begin(), value->args.end(), [&](const Expr& e) {
      return e == CastExpr(DType::kI32, left.read) || e == CastExpr(DType::kI32, right.read);
    });
  }
};

class Rewriter {
 public:
  Rewriter(const Program& p, Sdfg* s, const schedule::Device& d, const Ask& ask) : s_(*s), device_(d), ask_(ask), uses_(p, *s), quantisation_(*s, uses_), names_(*s) {}

  Result<bool> Run() {
    for (uint32_t at = 0; at < uses_.positions().size(); ++at)
      if (auto found = At(at)) found_.emplace(uses_.positions()[at].statement.value, std::move(*found));
    std::unordered_map<uint32_t, bool> taken;
    for (auto& [statement, f] : found_) {
      const NodeId first = uses_.positions()[f.initial].statement;
      if (ask_(Match{s_.name, {NodeId{statement}}, {}, {}, "", true})) taken[statement] = taken[first.value] = true;
    }
    if (taken.empty()) return false;
    Status status;
    BlockRewriter(&s_).Run([&](BlockRewriter& r, NodeId n) {
      if (!taken.count(n.value)) return false;
      if (const auto it = found_.find(n.value); it != found_.end())
        if (const Status done = Emit(it->second, n, &r); !done.ok()) status = done;
      return true;
    });
    HR_RETURN_IF_ERROR(status);
    return true;
  }

 private:
  std::optional<Found> At(uint32_t at) const {
    const NodeId n = uses_.positions()[at].statement;
    if (!n.valid()) return std::nullopt;
    const auto sum = OneTaskletOf(s_, n);
    if (!sum || sum->tasklet.op != WriteOp::kAdd || !sum->tasklet.value.Is(ExprKind::kBinary) || sum->tasklet.value->op != Op::kMul)
      return std::nullopt;
    const Container& target = s_.Get(sum->tasklet.target);
    if ((target.dtype != DType::kF32 && target.dtype != DType::kI32) || !WritesAll(s_, *sum)) return std::nullopt;
    auto left = quantisation_.Of(sum->tasklet.value->args[0], at), right = quantisation_.Of(sum->tasklet.value->args[1], at);
    if (!left || !right) return std::nullopt;
    if (right->read->has_default || (IsConstant(*left) && !left->read->has_default)) std::swap(left, right);
    Found f{at, 0, *sum, {}, {}, {}, *left, *right};
    for (const Range& r : sum->ranges) {
      const auto& index = sum->tasklet.index;
      (std::find(index.begin(), index.end(), SymbolExpr(r.index)) == index.end() ? f.terms : f.results).push_back(r);
    }
    const bool fits = target.dtype == DType::kI32 || SumFits(f);  // an i32 wraps, as it did
    if (target.dtype == DType::kI32 && !left->zero && !right->zero && left->scales.empty() && right->scales.empty() && f.IsDone()) return std::nullopt;
    if (right->read->has_default || f.terms.empty() || !fits || !IsApart(f) || !Initial(&f)) return std::nullopt;
    return f;
  }

  bool IsConstant(const Quantised& q) const { return s_.Get(q.read->name).kind == ContainerKind::kConstant; }

  // Factors are less than 256 each; zero points are of the same type.
  static bool SumFits(const Found& f, int64_t most = std::numeric_limits<int32_t>::max()) {
    int64_t count = 1;
    for (const Range& r : f.terms) {
      const auto n = AsInt(r.end);
      if (!n || *n > std::numeric_limits<int32_t>::max()) return false;
      count = std::min<int64_t>(std::numeric_limits<int32_t>::max(), count * std::max<int64_t>(1, *n));
    }
    return count * 255 * 255 <= most;
  }

  // What is taken out of the sum depends on none of its terms, and on nothing that is written here.
  bool IsApart(const Found& f) const {
    const DType target = s_.Get(f.sum.tasklet.target).dtype;
    for (const Quantised* q : {&f.left, &f.right}) {
      std::vector<Expr> outside = q->scales;
      if (q->zero) outside.push_back(q->zero);
      for (const Expr& e : outside)
        if (MentionsAny(e, f.terms) || !quantisation_.Keeps(e, f.at - 1, f.at)) return false;
    }
    for (const Quantised* q : {&f.left, &f.right})
      for (const Expr& e : q->scales)
        if (const auto typed = InferTypes(s_, e, target); !typed.ok() || (*typed)->dtype != target) return false;
    return f.left.scales.size() + f.right.scales.size() > 0 || target == DType::kI32;
  }

  // The statement before that gives each element what its sum starts at. Nobody else writes them, or reads them in between.
  bool Initial(Found* f) const {
    const Tasklet& sum = f->sum.tasklet;
    const Usage& u = uses_.Of(sum.target);
    if (RootOf(s_, sum.target) != sum.target || u.viewed || u.writes.size() != 2 || u.writes[1] != f->at) return false;
    f->initial = u.writes[0];
    const UseIndex::Position &first = uses_.positions()[f->initial], &here = uses_.positions()[f->at];
    if (!first.statement.valid() || first.region != here.region) return false;
    if (std::any_of(u.reads.begin(), u.reads.end(), [&](uint32_t r) { return r < f->at; })) return false;
    const auto initial = OneTaskletOf(s_, first.statement);
    if (!initial || initial->tasklet.op != WriteOp::kAssign || initial->tasklet.target != sum.target || !WritesAll(s_, *initial)) return false;
    if (!quantisation_.Keeps(initial->tasklet.value, f->initial, f->at)) return false;
    f->first = *initial;
    return true;
  }

  // ---- what takes its place ----
  Status Emit(const Found& f, NodeId statement, BlockRewriter* out) {
    origin_ = s_.nodes[statement].origin.By("integer-products");
    out_ = out;
    const Tasklet& sum = f.sum.tasklet;
    Factor left = FactorOf(f.left), right = FactorOf(f.right);
    const bool windows = IsWindowOfBytes(f), floats = !windows && IsShortInFloats(f),
               dots = windows || (!floats && device_.byte_dot == 4 && IsMatrix(f));
    if (dots) HR_RETURN_IF_ERROR(Signs(&left, &right));
    Expr less;
    if (right.zero && !dots) right.value = BinaryExpr(Op::kSub, right.value, right.zero), right.zero = Expr();
    if (left.zero) {
      HR_ASSIGN_OR_RETURN(less, Constant(f, left, right));
      if (!less && dots) less = BinaryExpr(Op::kMul, left.zero, Sums(f, right, right.zero));
      if (!less) left.value = BinaryExpr(Op::kSub, left.value, left.zero);
    }
    if (floats) {
      HR_RETURN_IF_ERROR(InFloats(&right));
      left.value = CastExpr(DType::kF32, left.value);
      if (less) less = CastExpr(DType::kF32, less);
    }
    const Name total = Transient(sum.target.str() + "_sums", s_.Get(sum.target).shape, floats ? DType::kF32 : DType::kI32);
    Put(f.results, {total, sum.index, false, false, WriteOp::kAssign, Expr(0)});
    Put(f.sum.ranges, {total, sum.index, false, false, WriteOp::kAdd, BinaryExpr(Op::kMul, left.value, right.value)});
    Expr value = ReadExpr(total, sum.index);
    if (right.zero) value = BinaryExpr(Op::kSub, value, BinaryExpr(Op::kMul, right.zero, Sums(f, left, {})));
    if (less) value = BinaryExpr(Op::kSub, value, less);
    Put(f.results, {sum.target, sum.index, false, false, WriteOp::kAssign, Scaled(f, value)});
    return {};
  }

  // An operand as the sum takes it: an i32 that is `zero` more than what is meant.
  struct Factor {
    Expr value, read, zero;
    DType type = DType::kNone;
  };
  static Factor FactorOf(const Quantised& q) { return {CastExpr(DType::kI32, q.read), q.read, q.zero, q.type}; }

  // Some results share what they take from the left, others what they take from the right.
  static bool IsMatrix(const Found& f) {
    const auto only = [&](const Expr& in, const Expr& not_in) {
      return std::any_of(f.results.begin(), f.results.end(), [&](const Range& r) { return Mentions(in, r.index) && !Mentions(not_in, r.index); });
    };
    return only(f.left.read, f.right.read) && only(f.right.read, f.left.read);
  }

  // Short sums for each result by itself, such as those of depthwise convolutions: floats hold them exactly, and are multiplied and added
  // at once, where integers of 32 bits take some instructions.
  bool IsShortInFloats(const Found& f) const {
    const bool apart = std::any_of(f.results.begin(), f.results.end(), [&](const Range& r) {
      return Mentions(f.left.read, r.index) && Mentions(f.right.read, r.index);
    });
    return apart && !IsMatrix(f) && s_.Get(f.sum.tasklet.target).dtype == DType::kF32 && SumFits(f, int64_t{1} << 24);
  }
  // … unless the device adds up four products at once, and their windows are such as schedule/byte_windows.h takes, whichever way the lines
  // of the image go.
  bool IsWindowOfBytes(const Found& f) const {
    const Container& weights = s_.Get(f.right.read->name);
    if (device_.byte_dot != 4 || !IsShortInFloats(f) || f.right.zero || f.right.type != DType::kI8 || weights.kind != ContainerKind::kConstant)
      return false;
    const int64_t lanes = device_.vector_bytes / ByteSize(DType::kI32);
    const bool whole = std::any_of(f.results.begin(), f.results.end(), [&](const Range& r) {
      return Mentions(f.left.read, r.index) && Mentions(f.right.read, r.index) && AsInt(r.end).value_or(1) % lanes == 0;
    });
    int windows = 0;
    for (const Expr& e : f.left.read->args)
      for (const Range& t : f.terms) {
        if (!Mentions(e, t.index) || LengthOf(t) == 1) continue;
        ++windows;
        const auto slope = [&](Name index) { return AsInt(Coefficient(e, index).value_or(Expr(0))).value_or(0); };
        int64_t by = 0;
        for (const Range& r : f.results)
          if (Mentions(e, r.index)) by = slope(r.index);
        if (slope(t.index) != 1 || !schedule::FitsByteWindows(LengthOf(t), by)) return false;
      }
    return whole && windows > 0;
  }
  static int64_t LengthOf(const Range& r) { return AsInt(r.end).value_or(0); }
  // Weights that are constant are so in floats.
  Status InFloats(Factor* f) {
    const Container& weights = s_.Get(f->read->name);
    if (weights.kind != ContainerKind::kConstant || !weights.data.data || f->value != CastExpr(DType::kI32, f->read)) {
      f->value = CastExpr(DType::kF32, f->value);
      return {};
    }
    HR_ASSIGN_OR_RETURN(Tensor floats, Tensor::Create(DType::kF32, weights.data.shape));
    for (int64_t i = 0; i < floats.elements(); ++i) floats.as<float>()[i] = static_cast<float>(weights.data.GetInt(i));
    f->value = ReadExpr(AddConstant(weights.name.str() + "_floats", DType::kF32, weights.shape, std::move(floats)), f->read->args);
    return {};
  }

  // Processors multiply u8 by i8: 128 more on the left, or less on the right, as its zero point is.
  Status Signs(Factor* left, Factor* right) {
    if (left->type == DType::kI8) Shift(left, 128);
    if (right->type != DType::kU8) return {};
    const Container& weights = s_.Get(right->read->name);
    if (weights.kind != ContainerKind::kConstant || !weights.data.data) return Shift(right, -128), Status();
    HR_ASSIGN_OR_RETURN(Tensor shifted, Tensor::Create(DType::kI8, weights.data.shape));
    for (int64_t i = 0; i < shifted.elements(); ++i) shifted.SetInt(i, weights.data.GetInt(i) - 128);
    const Name name = AddConstant(weights.name.str() + "_signed", DType::kI8, weights.shape, std::move(shifted));
    right->read = ReadExpr(name, right->read->args);
    right->value = CastExpr(DType::kI32, right->read);
    right->zero = Plus(right->zero, -128);
    return {};
  }
  static void Shift(Factor* f, int64_t by) {
    f->value = BinaryExpr(by < 0 ? Op::kSub : Op::kAdd, f->value, Expr(std::abs(by)));
    f->zero = Plus(f->zero, by);
  }
  static Expr Plus(const Expr& zero, int64_t by) {
    const auto known = zero ? AsInt(zero) : std::optional<int64_t>(0);
    if (known) return *known + by == 0 ? Expr() : Expr(*known + by);
    return BinaryExpr(by < 0 ? Op::kSub : Op::kAdd, zero, Expr(std::abs(by)));
  }

  // The scaled sum, after what it starts at.
  Expr Scaled(const Found& f, Expr sum) const {
    const bool real = s_.Get(f.sum.tasklet.target).dtype == DType::kF32 && (IsWindowOfBytes(f) || !IsShortInFloats(f));
    Expr scale;
    for (const Quantised* q : {&f.left, &f.right})
      for (const Expr& e : q->scales) scale = scale ? BinaryExpr(Op::kMul, scale, e) : e;
    if (real) sum = CastExpr(DType::kF32, sum);
    if (scale) sum = BinaryExpr(Op::kMul, sum, scale);
    NameMap here;
    for (size_t d = 0; d < f.first.tasklet.index.size(); ++d)
      if (f.first.tasklet.index[d].Is(ExprKind::kSymbol)) here.emplace_back(f.first.tasklet.index[d]->name, f.sum.tasklet.index[d]);
    const Expr first = Substitute(f.first.tasklet.value, here);
    const bool nothing = AsInt(first) == 0 || (first.Is(ExprKind::kFloat) && first->fvalue == 0);
    return nothing ? sum : BinaryExpr(Op::kAdd, first, sum);
  }

  // The sums of an operand, less `zero` each, over all terms, for each result that has one of its own.
  Expr Sums(const Found& f, const Factor& of, const Expr& zero) {
    std::vector<Range> results, terms = f.terms;
    std::vector<Expr> index, shape;
    for (const Range& r : f.results)
      if (Mentions(of.value, r.index)) results.push_back(r), index.push_back(SymbolExpr(r.index)), shape.push_back(r.end);
    std::vector<Range> all = results;
    all.insert(all.end(), terms.begin(), terms.end());
    const Name to = Transient(of.read->name.str() + "_sums", shape, DType::kI32);
    Put(results, {to, index, false, false, WriteOp::kAssign, Expr(0)});
    Put(all, {to, index, false, false, WriteOp::kAdd, zero ? BinaryExpr(Op::kSub, of.value, zero) : of.value});
    return ReadExpr(to, index);
  }

  // The left zero point times the sums of the right operand, where that is a constant. Null: it is none.
  Result<Expr> Constant(const Found& f, const Factor& left, const Factor& right) {
    const Container& weights = s_.Get(right.read->name);
    const auto zero = right.zero ? AsInt(right.zero) : std::optional<int64_t>(0), times = AsInt(left.zero);
    if (weights.kind != ContainerKind::kConstant || !weights.data.data || !zero || right.value != CastExpr(DType::kI32, right.read)) return Expr();
    std::vector<int> kept;  // dimensions of the weights that results have, too
    std::vector<Expr> index, shape;
    std::vector<Name> seen;
    for (size_t d = 0; d < weights.shape.size(); ++d) {
      const Expr& e = right.read->args[d];
      if (AsInt(e) == 0 && AsInt(weights.shape[d]) == 1) continue;
      const auto range = std::find_if(f.sum.ranges.begin(), f.sum.ranges.end(), [&](const Range& r) { return e == SymbolExpr(r.index); });
      if (range == f.sum.ranges.end() || range->end != weights.shape[d] || Contains(seen, range->index)) return Expr();
      seen.push_back(range->index);
      if (!MentionsAny(e, f.results)) continue;
      kept.push_back(static_cast<int>(d)), index.push_back(e), shape.push_back(weights.shape[d]);
    }
    int64_t repeated = 1;  // terms that the weights are the same for
    for (const Range& r : f.terms)
      if (!Contains(seen, r.index)) {
        if (!AsInt(r.end)) return Expr();
        repeated *= *AsInt(r.end);
      }
    HR_ASSIGN_OR_RETURN(Tensor sums, SumsOf(weights.data, kept, *zero, repeated * times.value_or(1)));
    const Expr read = ReadExpr(AddConstant(right.read->name.str() + "_sums", DType::kI32, shape, std::move(sums)), index);
    return times ? read : BinaryExpr(Op::kMul, left.zero, read);
  }
  static bool Contains(const std::vector<Name>& list, Name n) { return std::find(list.begin(), list.end(), n) != list.end(); }

  // Over all dimensions but `kept`, each element less `zero`; `times` as much.
  static Result<Tensor> SumsOf(const Tensor& of, const std::vector<int>& kept, int64_t zero, int64_t times) {
    std::vector<int64_t> shape, strides(of.shape.size(), 0);
    int64_t stride = 1;
    for (int d : kept) shape.push_back(of.shape[static_cast<size_t>(d)]);
    for (size_t k = kept.size(); k-- > 0;) strides[static_cast<size_t>(kept[k])] = stride, stride *= shape[k];
    HR_ASSIGN_OR_RETURN(Tensor out, Tensor::Create(DType::kI32, shape));
    std::vector<int64_t> sums(static_cast<size_t>(stride), 0), at(of.shape.size(), 0);
    for (int64_t i = 0, to = 0; i < of.elements(); ++i) {
      sums[static_cast<size_t>(to)] += of.GetInt(i) - zero;
      for (size_t d = of.shape.size(); d-- > 0;) {
        to += strides[d];
        if (++at[d] < of.shape[d]) break;
        to -= strides[d] * of.shape[d], at[d] = 0;
      }
    }
    for (int64_t k = 0; k < stride; ++k) out.SetInt(k, static_cast<int32_t>(static_cast<uint32_t>(sums[static_cast<size_t>(k)] * times)));
    return out;
  }

  Name AddConstant(const std::string& stem, DType type, const std::vector<Expr>& shape, Tensor data) {
    Container c;
    c.name = names_.Fresh(Name(stem));
    c.kind = ContainerKind::kConstant, c.dtype = type, c.shape = shape, c.data = std::move(data);
    const Name name = c.name;
    s_.Add(std::move(c));
    return name;
  }
  Name Transient(const std::string& stem, const std::vector<Expr>& shape, DType type) {
    Container c;
    c.name = names_.Fresh(Name(stem));
    c.dtype = type, c.shape = shape;
    const Name name = c.name;
    s_.Add(std::move(c));
    return name;
  }

  void Put(const std::vector<Range>& ranges, Tasklet t) {
    NodeId n = s_.AddNode(std::move(t), origin_);
    if (!ranges.empty()) n = s_.AddNode(Map{ranges, {n}}, origin_);
    out_->AppendStatement(n);
  }

  Sdfg& s_;
  const schedule::Device& device_;
  const Ask& ask_;
  UseIndex uses_;
  Quantisation quantisation_;
  NameTable names_;
  std::unordered_map<uint32_t, Found> found_;  // by statement
  Origin origin_;
  BlockRewriter* out_ = nullptr;
};

bool HoldsBytes(const Sdfg& s) {
  return std::any_of(s.order.begin(), s.order.end(), [&](Name n) {
    const DType t = s.Get(n).dtype;
    return t == DType::kU8 || t == DType::kI8;
  });
}

}  // namespace

Result<bool> IntegerProducts(Program& p, const schedule::Device& device, const Ask& ask) {
  return transforms::TryChangeEach(p, [&](Sdfg* s) -> Result<bool> {
    if (!HoldsBytes(*s)) return false;
    HR_ASSIGN_OR_RETURN(const bool some, Rewriter(p, s, device, ask).Run());
    return ReadQuantised(p, s, ask) || some;
  });
}

}  // namespace headrace
