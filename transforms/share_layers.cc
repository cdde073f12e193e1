#include "transforms/share_layers.h"

#include <optional>
#include <unordered_set>

#include "transforms/layer.h"
#include "transforms/layer_statements.h"
#include "transforms/repeats.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

using transforms::Layer;
using transforms::LayerMaker;
using transforms::LayerStatement;
using transforms::LayerStatements;
using transforms::Repeat;

// The states of a program that follow each other, as one list of statements.
class Sharer {
 public:
  Sharer(Program& p, const Registry& r, const LayerOptions& o, const Ask& ask) : p_(p), r_(r), o_(o), ask_(ask) {}

  bool Run() {
    const Sdfg& s = p_.Entry();
    std::vector<NodeId> line;
    std::vector<std::vector<NodeId>> lines;
    const auto end = [&] {
      if (line.size() >= 2 * o_.least) lines.push_back(line);
      line.clear();
    };
    for (BlockId b : s.body) {
      const auto* state = std::get_if<State>(&s.blocks[b].control);
      if (!state) {
        end();
        continue;
      }
      for (NodeId n : state->statements)
        if (s.nodes[n].body.index() != 0) line.push_back(n);
    }
    end();
    if (lines.empty()) return false;
    finder_.emplace(p_, s, r_);
    for (const std::vector<NodeId>& l : lines) {
      statements_ = finder_->Of(l);
      items_.clear();
      for (const LayerStatement& x : statements_) items_.push_back(x.key);
      Within(0, items_.size());
    }
    if (found_.empty()) return false;
    Replace();
    return true;
  }

 private:
  struct Found {
    Layer layer;
    std::vector<std::vector<NodeId>> runs;
  };

  // Repeats in [from, to), and then on both sides of the best one.
  void Within(size_t from, size_t to) {
    const std::optional<Repeat> best = transforms::BestRepeat(items_, from, to, o_.least);
    if (!best) return;
    finder_->FindTouched(&statements_, best->begin, best->begin + transforms::AskedByPlaced(*best));
    const Repeat r = transforms::Placed(statements_, *best);
    if (r.count < 2) return;
    finder_->FindTouched(&statements_, r.begin, r.end());
    for (size_t first = 0; first < r.count;) first += Take(r, first);
    Within(from, r.begin);
    Within(r.end(), to);
  }

  // The runs from the `first` on that can be calls of one layer; how many there were.
  size_t Take(const Repeat& r, size_t first) {
    if (!maker_) maker_.emplace(p_, p_.Entry());
    std::optional<Layer> layer = maker_->Of(statements_, r, first);
    if (!layer) return 1;
    const size_t count = layer->calls.size();
    Match m;
    m.sdfg = p_.entry;
    Found f;
    for (size_t k = 0; k < count; ++k) {
      const size_t at = r.begin + (first + k) * r.period;
      m.statements.push_back(statements_[at].id);
      f.runs.emplace_back();
      for (size_t i = 0; i < r.period; ++i) f.runs.back().push_back(statements_[at + i].id);
    }
    if (!ask_(m)) return count;
    f.layer = std::move(*layer);
    found_.push_back(std::move(f));
    return count;
  }

  void Replace() {
    Sdfg& s = p_.MutableEntry();
    std::unordered_set<Name> dead;
    for (Found& f : found_) {
      Name name = Fresh();
      f.layer.callee.name = name;
      for (size_t k = 0; k < f.runs.size(); ++k) {
        std::vector<Origin> of;
        for (NodeId n : f.runs[k]) of.push_back(s.nodes[n].origin);
        for (NodeId n : f.runs[k]) s.nodes.Mutable(n) = Node{};
        Nested call = f.layer.calls[k];
        call.callee = name;
        s.nodes.Mutable(f.runs[k][0]) = Node{std::move(call), Origin::Merged(of, "share-layers")};
      }
      dead.insert(f.layer.inside.begin(), f.layer.inside.end());
      p_.Add(std::move(f.layer.callee));
    }
    Sdfg& changed = p_.MutableEntry();
    transforms::RemoveEmptied(&changed);
    transforms::RemoveContainers(&changed, dead);
  }

  Name Fresh() const {
    Name n("layer");
    for (int k = 1; p_.Find(n); ++k) n = Name("layer_" + std::to_string(k));
    return n;
  }

  Program& p_;
  const Registry& r_;
  const LayerOptions& o_;
  const Ask& ask_;
  std::optional<LayerStatements> finder_;
  std::optional<LayerMaker> maker_;
  std::vector<LayerStatement> statements_;
  std::vector<uint32_t> items_;
  std::vector<Found> found_;
};

}  // namespace

Result<bool> ShareLayers(Program& p, const Registry& r, const LayerOptions& o, const Ask& ask) {
  return Sharer(p, r, o, ask).Run();
}

}  // namespace headrace
