#include "transforms/layer_statements.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "ir/graph/homes.h"
#include "transforms/statement_key.h"

namespace headrace::transforms {
namespace {

constexpr int64_t kByValue = 16;  // float constants of at most so many elements must be equal

bool Contains(const Library& l, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view p) { return l.op.view().find(p) != std::string_view::npos; });
}

// By name, for nothing is expanded yet; gradients have the names of their ops.
bool IsContraction(const Library& l) { return Contains(l, {"MatMul", "Gemm", "Einsum", "Attention", "LSTM", "GRU", "RNN"}); }
bool IsOverImages(const Library& l) { return Contains(l, {"Conv", "Pool", "Col2Im", "LRN", "Resize", "Upsample"}); }

// Expanded to statements, and not to a call of a plugin's function; strings, which are, have statements of their own.
bool IsPlain(const ForwardImplementation& i) { return i.name == "pure" || i.name == "function" || i.name == "strings"; }

bool OfTasklets(const Sdfg& s, NodeId n) {
  const Body& body = s.nodes[n].body;
  if (const auto* m = std::get_if<Map>(&body))
    return std::all_of(m->body.begin(), m->body.end(), [&](NodeId c) { return OfTasklets(s, c); });
  return std::holds_alternative<Tasklet>(body) || std::holds_alternative<std::monostate>(body);
}

bool MayBeHandedOn(const Container& c) {
  const bool plain = c.kind == ContainerKind::kParameter || c.kind == ContainerKind::kTransient || c.kind == ContainerKind::kConstant;
  return plain && c.dtype != DType::kString && c.dtype != DType::kNone && c.row_major() && !c.optional && c.place.slot < 0;
}

}  // namespace

bool IsByValue(const Container& c) {
  if (c.kind != ContainerKind::kConstant || !c.data.data) return false;
  return !(IsFloat(c.dtype) || IsComplex(c.dtype)) || c.data.elements() <= kByValue;
}

const LayerStatements::OpKind& LayerStatements::KindOf(const Library& l) {
  const auto [it, fresh] = kinds_.try_emplace(uint64_t{l.domain.id()} << 32 | l.op.id());
  OpKind& kind = it->second;
  if (!fresh) return kind;
  kind.over_images = IsOverImages(l);
  kind.contraction = IsContraction(l) || kind.over_images;
  for (const ForwardImplementation* i : r_.Implementations(l.domain.str(), l.op.str())) kind.only_pure &= IsPlain(*i);
  return kind;
}

// Functions of plugins may prepare what is constant, once for each node.
bool LayerStatements::CanBeShared(NodeId n) {
  if (!s_.nodes[n].origin.named()) return false;  // the calls tell whose statements they are by name
  const auto* l = std::get_if<Library>(&s_.nodes[n].body);
  if (!l) return OfTasklets(s_, n);
  static const Name call("call"), autodiff("autodiff");
  if (l->domain == call || l->domain == autodiff || !l->defines.empty() || KindOf(*l).over_images) return false;
  for (const auto& a : l->attributes)
    if (std::holds_alternative<Name>(a.second.value)) return false;
  return KindOf(*l).only_pure;
}

LayerStatement LayerStatements::One(NodeId n) {
  LayerStatement out;
  out.id = n;
  const auto* l = std::get_if<Library>(&s_.nodes[n].body);
  out.contraction = l && KindOf(*l).contraction;
  if (!CanBeShared(n)) return out;
  StatementKey key = KeyOf(s_, n, {}, {});
  for (Name c : key.containers)
    if (!MayBeHandedOn(s_.Get(c))) return out;
  for (Name symbol : key.symbols) key.text += '$' + std::to_string(symbol.id());
  for (Name name : key.containers) {
    const Container& c = s_.Get(name);
    key.text += '/' + std::to_string(IsScoped(c.storage));
    if (!IsByValue(c)) continue;
    key.text += 'v';
    key.text.append(reinterpret_cast<const char*>(c.data.data->data()), static_cast<size_t>(c.data.bytes()));
  }
  out.containers = std::move(key.containers);
  out.key = keys_.try_emplace(std::move(key.text), static_cast<uint32_t>(keys_.size() + 1)).first->second;
  return out;
}

std::vector<LayerStatement> LayerStatements::Of(const std::vector<NodeId>& line) {
  std::vector<LayerStatement> out;
  out.reserve(line.size());
  for (NodeId n : line) out.push_back(One(n));
  return out;
}

void LayerStatements::FindTouched(std::vector<LayerStatement>* statements, size_t from, size_t to) {
  for (size_t i = from; i < to && i < statements->size(); ++i)
    if (LayerStatement& x = (*statements)[i]; x.touched.empty()) x.touched = TouchedBy(s_, x.id, callees_);
}

namespace {

// How often a part, begun at `begin`, uses what the part before it wrote in a statement that could go with that one into one
// kernel: neither a contraction, nor after one.
size_t CutsAt(const std::vector<LayerStatement>& statements, size_t begin, size_t period) {
  std::unordered_set<Name> before, after;  // written by the part before; what comes from this part's contractions
  for (size_t i = begin; i < begin + period; ++i)
    for (const Touched& t : statements[i].touched)
      if (t.write) before.insert(t.root);
  size_t cuts = 0;
  for (size_t i = begin + period; i < begin + 2 * period; ++i) {
    const LayerStatement& x = statements[i];
    bool late = x.contraction, uses = false;
    for (const Touched& t : x.touched)
      if (t.read) late |= after.count(t.root) > 0, uses |= before.count(t.root) > 0;
    cuts += uses && !late;
    for (const Touched& t : x.touched) {
      if (!t.write) continue;
      before.erase(t.root);
      if (late) after.insert(t.root);
    }
  }
  return cuts;
}

}  // namespace

size_t AskedByPlaced(const Repeat& r) { return r.slack + 3 * r.period; }  // a part less has its slack, and two parts are compared

Repeat Placed(const std::vector<LayerStatement>& statements, const Repeat& r) {
  for (const bool shorter : {false, true}) {
    Repeat out = r;
    if (shorter) out.slack += out.period, --out.count;
    if (out.count < 2) break;
    for (size_t move = 0; move <= out.slack; ++move)
      if (CutsAt(statements, r.begin + move, r.period) == 0) {
        out.begin += move, out.slack -= move;
        return out;
      }
  }
  Repeat none = r;
  none.count = 0;
  return none;
}

}  // namespace headrace::transforms
