#include "importers/onnx/emit.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

namespace headrace::onnx_import {

std::string Identifier(const std::string& text, const std::string& fallback) {
  static const auto* const keywords = new std::unordered_set<std::string>{
      "true", "false", "inf", "nan", "pi", "if", "else", "for", "while", "do", "break", "continue"};
  std::string out;
  for (char c : text.substr(0, 120)) {
    const bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    out += ok ? c : '_';
  }
  if (out.find_first_not_of('_') == std::string::npos) out = fallback;
  if (out[0] >= '0' && out[0] <= '9') out = fallback + out;
  if (keywords->count(out) || ParseDType(out)) out += '_';
  return out;
}

Name Emitter::Unique(const std::string& text, const std::string& fallback) {
  std::string stem = Identifier(text, fallback), name = stem;
  int& suffix = next_suffix_[stem];
  while (indices_.count(name) || !taken_.insert(name).second) name = stem + "_" + std::to_string(++suffix);
  return Name(name);
}

void Emitter::Add(Container c) {
  // Initializers have their own name; that of a node on a constant would make one of it.
  if (!c.origin.named() && c.kind != ContainerKind::kConstant) c.origin = origin_;
  sdfg.Add(std::move(c));
}

NodeId Emitter::Statement(Body body) {
  Open& open = bodies_.back();
  if (!open.state.valid()) {
    open.state = sdfg.AddBlock(State{});
    open.blocks.push_back(open.state);
  }
  NodeId n = sdfg.AddNode(std::move(body), origin_);
  std::get<State>(sdfg.blocks.Mutable(open.state).control).statements.push_back(n);
  return n;
}

void Emitter::Append(Control control) {
  Open& open = bodies_.back();
  open.state = BlockId{};
  open.blocks.push_back(sdfg.AddBlock(std::move(control), origin_));
}

void Emitter::OpenBody(std::vector<BlockId> blocks, int id) {
  Open open;
  open.id = id >= 0 ? id : next_body_++;
  open.blocks = std::move(blocks);
  if (!open.blocks.empty() && std::holds_alternative<State>(sdfg.blocks[open.blocks.back()].control))
    open.state = open.blocks.back();
  bodies_.push_back(std::move(open));
}

std::vector<BlockId> Emitter::CloseBody() {
  std::vector<BlockId> blocks = std::move(bodies_.back().blocks);
  bodies_.pop_back();
  return blocks;
}

bool Emitter::IsOpen(int body) const {
  return std::any_of(bodies_.begin(), bodies_.end(), [&](const Open& o) { return o.id == body; });
}

void Emitter::Elementwise(Name target, const std::vector<Expr>& shape,
                          const std::function<Expr(const std::vector<Expr>&)>& value,
                          const std::function<std::vector<Expr>(const std::vector<Expr>&)>& place) {
  Map map;
  std::vector<Expr> at;
  for (size_t d = 0; d < shape.size(); ++d) {
    Name index("i" + std::to_string(d));
    if (taken_.count(index.str())) index = Unique(index.str());
    indices_.insert(index.str());
    map.ranges.push_back({index, IntExpr(0), shape[d], IntExpr(1)});
    at.push_back(SymbolExpr(index));
  }
  Tasklet t;
  t.target = target;
  t.index = place ? place(at) : at;
  t.value = value(at);
  if (map.ranges.empty()) {
    Statement(std::move(t));
    return;
  }
  map.body.push_back(sdfg.AddNode(std::move(t), origin_));
  Statement(std::move(map));
}

void Emitter::Copy(Name target, Name source, const std::vector<Expr>& shape) {
  Elementwise(target, shape, [&](const std::vector<Expr>& i) { return ReadExpr(source, i); });
}

}  // namespace headrace::onnx_import
