#include "transforms/layout/pack_constants.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dataflow.h"
#include "ir/graph/homes.h"
#include "transforms/control_exprs.h"
#include "transforms/outline.h"
#include "transforms/schedule/choose_schedule.h"
#include "transforms/schedule/elements.h"
#include "transforms/schedule/winograd_transform.h"
#include "transforms/uses.h"

namespace headrace {
namespace layout {
namespace {

using schedule::Packing;
using schedule::Tiles;

constexpr int64_t kTermsAtOnce = 64;  // of a panel: they stay in the first cache while all columns write to them

// Element by element, panel by panel; rows of the source are read as they lie.
template <typename T>
void Pack(const Tensor& from, const Packing& k, Tensor* to) {
  std::vector<int64_t> strides(from.shape.size(), 1);
  for (size_t d = from.shape.size(); d-- > 1;) strides[d - 1] = strides[d] * from.shape[d];
  int64_t terms = 1;
  for (size_t d : k.terms) terms *= from.shape[d];
  std::vector<int64_t> offsets(static_cast<size_t>(terms), 0), places(static_cast<size_t>(terms), 0);
  const int64_t last = from.shape[k.terms.back()], groups = (last + k.group - 1) / k.group, group = k.width * k.group;
  for (int64_t i = 0; i < terms; ++i) places[static_cast<size_t>(i)] = (i / last * groups + i % last / k.group) * group + i % last % k.group;
  int64_t inner = terms;
  for (size_t d : k.terms) {
    inner /= from.shape[d];
    for (int64_t i = 0; i < terms; ++i) offsets[static_cast<size_t>(i)] += i / inner % from.shape[d] * strides[d];
  }
  const int64_t columns = from.shape[k.columns], panel = terms / last * groups * group;
  for (int64_t first = 0; first < columns; first += k.width)
    for (int64_t begin = 0; begin < terms; begin += kTermsAtOnce)
      for (int64_t column = first; column < std::min(columns, first + k.width); ++column) {
        const T* source = from.as<T>() + column * strides[k.columns];
        T* target = to->as<T>() + first / k.width * panel + (column - first) * k.group;
        for (int64_t i = begin; i < std::min(terms, begin + kTermsAtOnce); ++i)
          target[places[static_cast<size_t>(i)]] = source[offsets[static_cast<size_t>(i)]];
      }
}

// G W Gᵀ of every window of 3 × 3: schedule/winograd.h.
Result<Tensor> Transformed(const Tensor& from, const Packing& k) {
  const int64_t columns = from.shape[k.columns], channels = from.shape[k.terms[2]];
  std::vector<int64_t> strides(from.shape.size(), 1);
  for (size_t d = from.shape.size(); d-- > 1;) strides[d - 1] = strides[d] * from.shape[d];
  HR_ASSIGN_OR_RETURN(Tensor to, Tensor::Create(from.dtype, {(columns + k.width - 1) / k.width, 16, channels, k.width}));
  const auto& g = schedule::kWeightsTransform;
  const auto width = static_cast<size_t>(k.width);
  for (int64_t first = 0; first < columns; first += k.width)
    for (int64_t channel = 0; channel < channels; ++channel) {  // a panel's columns side by side
      std::vector<double> windows(9 * width, 0);
      for (int64_t u = 0; u < std::min(k.width, columns - first); ++u)
        for (int64_t e = 0; e < 9; ++e)
          windows[static_cast<size_t>(e * k.width + u)] = from.as<float>()[(first + u) * strides[k.columns] + channel * strides[k.terms[2]] +
                                                                           e / 3 * strides[k.terms[0]] + e % 3 * strides[k.terms[1]]];
      float* to_line = to.as<float>() + (first / k.width * 16 * channels + channel) * k.width;
      for (size_t e = 0; e < 16; ++e, to_line += channels * k.width) {
        std::vector<double> sums(width, 0);
        for (size_t i = 0; i < 9; ++i) {
          const double weight = g[e / 4][i / 3] * g[e % 4][i % 3];
          for (size_t u = 0; u < width; ++u) sums[u] += weight * windows[i * width + u];
        }
        std::copy(sums.begin(), sums.end(), to_line);
      }
    }
  return to;
}

// bf16 where no instruction takes pairs of it: it is computed with in f32, and what it is multiplied by, too.
bool IsWidened(DType t, const Packing& k) { return t == DType::kBF16 && k.group == 1; }

Result<Tensor> Widened(const Tensor& from) {
  HR_ASSIGN_OR_RETURN(Tensor to, Tensor::Create(DType::kF32, from.shape));
  for (int64_t i = 0; i < from.elements(); ++i) to.SetDouble(i, from.GetDouble(i));
  return to;
}

Result<Tensor> Packed(const Tensor& from, const Packing& k) {
  if (IsWidened(from.dtype, k)) {
    HR_ASSIGN_OR_RETURN(const Tensor wide, Widened(from));
    return Packed(wide, k);
  }
  if (k.transformed) return Transformed(from, k);
  std::vector<int64_t> shape = {(from.shape[k.columns] + k.width - 1) / k.width};
  for (size_t d : k.terms) shape.push_back(from.shape[d]);
  shape.back() = (shape.back() + k.group - 1) / k.group;
  shape.push_back(k.width);
  if (k.group > 1) shape.push_back(k.group);
  HR_ASSIGN_OR_RETURN(Tensor to, Tensor::Create(from.dtype, shape));
  std::memset(to.data->data(), 0, static_cast<size_t>(to.bytes()));
  switch (ByteSize(from.dtype)) {
    case 1: Pack<uint8_t>(from, k, &to); break;
    case 2: Pack<uint16_t>(from, k, &to); break;
    case 4: Pack<uint32_t>(from, k, &to); break;
    default: Pack<uint64_t>(from, k, &to);
  }
  return to;
}

class Packer {
 public:
  Packer(const Program& p, const Sdfg& s, const schedule::Device& d, const Ask& ask)
      : p_(p), s_(s), d_(d), ask_(ask), written_(s.order.begin(), s.order.end()) {}

  Result<bool> Run() {
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      if (const auto* state = std::get_if<State>(&s_.blocks[b].control))
        for (NodeId id : state->statements) Collect(id);
      else
        transforms::ForEachControlExpr(s_.blocks[b].control, [&](const Expr& e) {
          for (Name n : ReadContainers(e)) Otherwise(RootOf(s_, n));
        });
    });
    for (Name n : s_.order)
      if (const Container& c = s_.Get(n); !c.base.empty()) others_.insert(c.base);
    std::unordered_set<Name> replaced;
    for (const auto& [name, want] : wants_) {
      if (others_.count(name) || !ask_({s_.name, want.statements, {}, {name}, "", true})) continue;
      HR_ASSIGN_OR_RETURN(const bool packed, Apply(name, want));
      if (packed) replaced.insert(name);
    }
    transforms::RemoveContainers(&s_, replaced);
    return !replaced.empty();
  }
  Sdfg Take() { return std::move(s_); }
  static bool HasWeights(const Sdfg& s) {
    return std::any_of(s.order.begin(), s.order.end(), [&](Name n) { return MayBePacked(s.Get(n)); });
  }

 private:
  struct Want {
    Packing packing;
    std::vector<NodeId> statements;
  };

  static bool MayBePacked(const Container& c) {
    const bool known = c.kind == ContainerKind::kConstant && c.data.data && c.shape.size() > 1;
    return known && (c.dtype == DType::kF32 || c.dtype == DType::kF64 || c.dtype == DType::kBF16 || c.dtype == DType::kI8);
  }

  void Otherwise(Name n) {
    if (MayBePacked(s_.Get(n))) others_.insert(n);
  }

  // What a statement wants of its weights, if they are a constant, and what it touches otherwise.
  void Collect(NodeId id) {
    const std::vector<Touched> touched = TouchedBy(s_, id, callees_);
    const bool reads_constant = std::any_of(touched.begin(), touched.end(), [&](const Touched& t) { return MayBePacked(s_.Get(t.root)); });
    const std::optional<Packing> packing = reads_constant && IsMapOfTasklets(s_, id) ? PackingIn(id) : std::nullopt;
    for (const Touched& t : touched) {
      if (!packing || t.root != packing->container) {
        Otherwise(t.root);
        continue;
      }
      const auto [it, fresh] = wants_.try_emplace(t.root, Want{*packing, {}});
      if (!fresh && !(it->second.packing == *packing)) others_.insert(t.root);
      it->second.statements.push_back(id);
    }
  }

  static bool IsMapOfTasklets(const Sdfg& s, NodeId id) {
    const auto* m = std::get_if<Map>(&s.nodes[id].body);
    if (!m) return false;
    return std::all_of(m->body.begin(), m->body.end(),
                       [&](NodeId n) { return std::holds_alternative<Tasklet>(s.nodes[n].body) || IsMapOfTasklets(s, n); });
  }

  // With the program's container in place of the kernel's parameter.
  std::optional<Packing> PackingIn(NodeId id) {
    std::vector<Name> parameters;
    const Answer& answer = AnswerOf(id, &parameters);
    if (!answer.tiles || !answer.tiles->packing) return std::nullopt;
    Packing out = *answer.tiles->packing;
    out.container = parameters[answer.weights];
    const Container& c = s_.Get(out.container);
    return MayBePacked(c) && (!out.transformed || c.dtype == DType::kF32) ? std::optional<Packing>(out) : std::nullopt;
  }

  struct Answer {
    std::optional<Tiles> tiles;
    size_t weights = 0;  // which of the parameters they would pack
  };
  // Of the strategy, asked once for each distinct statement. `parameters`: the kernel's, as the program calls them.
  const Answer& AnswerOf(NodeId id, std::vector<Name>* parameters) {
    const transforms::StatementKey key = transforms::KeyOf(s_, id, {}, written_);
    for (Name n : key.containers)
      if (s_.Get(n).kind != ContainerKind::kView && !IsScoped(s_.Get(n).storage)) parameters->push_back(n);
    const auto [it, fresh] = answers_.try_emplace(key.text);
    Answer& answer = it->second;
    if (!fresh) return answer;
    const Sdfg kernel = KernelOf(s_, id, key, written_);
    answer.tiles = schedule::TilesOf(p_, kernel, d_);
    if (answer.tiles && answer.tiles->packing)
      answer.weights = static_cast<size_t>(
          std::find(kernel.parameters.begin(), kernel.parameters.end(), answer.tiles->packing->container) - kernel.parameters.begin());
    return answer;
  }

  // False where the strategy then wants it otherwise: nothing has changed.
  Result<bool> Apply(Name name, const Want& w) {
    Container c;
    c.name = s_.FreshName(name.str() + "_packed");
    c.kind = ContainerKind::kConstant;
    c.dtype = IsWidened(s_.Get(name).dtype, w.packing) ? DType::kF32 : s_.Get(name).dtype;
    c.origin = s_.Get(name).origin;
    HR_ASSIGN_OR_RETURN(c.data, Packed(s_.Get(name).data, w.packing));
    for (int64_t n : c.data.shape) c.shape.push_back(Expr(n));
    const Sdfg before = s_;
    const Name to = c.name;
    s_.Add(std::move(c));
    for (NodeId id : w.statements) {
      Replace(&s_, id, w.packing, to);
      std::vector<Name> parameters;
      const Answer& answer = AnswerOf(id, &parameters);
      if (answer.tiles && answer.tiles->packed) continue;
      s_ = before;
      return false;
    }
    return true;
  }

  static Expr Untransformed(const Expr& e, const Packing& k, Name to) {
    const Expr width(k.width), column = e->args[k.columns], channel = e->args[k.terms[2]];
    const auto element = [&](int64_t n) { return ReadExpr(to, {FloorDiv(column, width), Expr(n), channel, Mod(column, width)}); };
    return schedule::WeightsOf(element, e->args[k.terms[0]], e->args[k.terms[1]]);
  }

  static bool Reads(const Expr& e, Name container) {
    const auto reads = ReadContainers(e);
    return std::find(reads.begin(), reads.end(), container) != reads.end();
  }
  // Factors of a product are of one type.
  static Expr OfOneType(const Sdfg& s, const Expr& value) {
    if (!value.Is(ExprKind::kBinary) || value->op != Op::kMul) return value;
    const auto wide = [&](const Expr& e) { return schedule::Widened(s, e, DType::kF32); };
    return BinaryExpr(Op::kMul, wide(value->args[0]), wide(value->args[1]));
  }

  static void Replace(Sdfg* s, NodeId id, const Packing& k, Name to) {
    Body body = s->nodes[id].body;
    if (const auto* m = std::get_if<Map>(&body)) {
      for (NodeId n : m->body) Replace(s, n, k, to);
      return;
    }
    auto* t = std::get_if<Tasklet>(&body);
    if (!t) return;
    const bool widened = Reads(t->value, k.container) && IsWidened(s->Get(k.container).dtype, k);
    t->value = Transform(t->value, [&](const Expr& e) -> Expr {
      if (!e.Is(ExprKind::kRead) || e->name != k.container) return e;
      if (k.transformed) return Untransformed(e, k, to);
      const Expr width(k.width), group(k.group), column = e->args[k.columns], last = e->args[k.terms.back()];
      std::vector<Expr> index = {FloorDiv(column, width)};
      for (size_t d : k.terms) index.push_back(e->args[d]);
      if (k.group > 1) index.back() = FloorDiv(last, group);
      index.push_back(Mod(column, width));
      if (k.group > 1) index.push_back(Mod(last, group));
      return ReadExpr(to, std::move(index));
    });
    if (widened) t->value = OfOneType(*s, t->value);
    s->nodes.Mutable(id).body = std::move(body);
  }

  const Program& p_;
  Callees callees_{p_};
  Sdfg s_;
  const schedule::Device& d_;
  const Ask& ask_;
  const std::unordered_set<Name> written_;  // all that may hold values, for keys
  std::map<Name, Want> wants_;          // by constant
  std::unordered_set<Name> others_;     // constants that somebody uses otherwise
  std::unordered_map<std::string, Answer> answers_;  // by what a statement computes
};

}  // namespace
}  // namespace layout

Result<bool> PackConstants(Program& p, const schedule::Device& device, const Ask& ask) {
  bool changed = false;
  for (const std::shared_ptr<Sdfg>& shared : std::vector<std::shared_ptr<Sdfg>>(p.sdfgs)) {
    if (shared->kernel || !layout::Packer::HasWeights(*shared)) continue;
    layout::Packer packer(p, *shared, device, ask);
    HR_ASSIGN_OR_RETURN(const bool packed, packer.Run());
    if (!packed) continue;
    p.Mutable(shared->name) = packer.Take();
    changed = true;
  }
  return changed;
}

}  // namespace headrace
