#include "ir/graph/homes.h"

#include <unordered_map>

namespace headrace {
namespace {

class HomeFinder {
 public:
  HomeFinder(const Sdfg& s, const std::vector<NodeId>& statements) : s_(s) { Body(statements); }

  std::vector<Home> Found() const {
    std::vector<Home> out;
    for (Name n : order_) {
      const Uses& u = uses_.at(n);
      Home h{n, {}, false, u.first[u.common].node};
      if (u.common > 0) h.owner = u.first[u.common - 1].node, h.otherwise = u.first[u.common - 1].otherwise;
      out.push_back(h);
    }
    return out;
  }

 private:
  struct Step {
    NodeId node;
    bool otherwise = false;
  };
  struct Uses {
    std::vector<Step> first;  // the way to the first use, which is the last step
    size_t common = 0;        // how many steps all uses go together
  };

  void Body(const std::vector<NodeId>& statements) {
    for (NodeId n : statements) Statement(n);
  }

  void Statement(NodeId n) {
    const auto& body = s_.nodes[n].body;
    path_.push_back({n});
    if (const auto* t = std::get_if<Tasklet>(&body)) {
      Use(t->target);
      Reads(t->value);
      for (const Expr& e : t->index) Reads(e);
    } else if (const auto* map = std::get_if<Map>(&body)) {
      Body(map->body);
    } else if (const auto* choice = std::get_if<If>(&body)) {
      Reads(choice->condition);
      Body(choice->body);
      path_.back().otherwise = true;
      Body(choice->otherwise);
    } else if (const auto* check = std::get_if<Touch>(&body)) {
      for (const Expr& e : check->index) Reads(e);
    } else if (const auto* call = std::get_if<Nested>(&body)) {
      for (const Argument& a : call->arguments) Use(a.container);
    } else if (const auto* library = std::get_if<Library>(&body)) {
      for (const auto* ports : {&library->inputs, &library->outputs})
        for (const Port& p : *ports) Use(p.container);
    }
    path_.pop_back();
  }

  void Reads(const Expr& e) {
    for (Name n : ReadContainers(e)) Use(n);
  }

  void Use(Name n) {
    const Container* c = s_.Find(n);
    while (c && c->kind == ContainerKind::kView) c = s_.Find(c->base);
    if (!c || !IsScoped(c->storage)) return;
    auto [it, fresh] = uses_.try_emplace(c->name);
    Uses& u = it->second;
    if (fresh) {
      order_.push_back(c->name);
      u = {path_, path_.size() - 1};
      return;
    }
    size_t k = 0;
    while (k < u.common && k + 1 < path_.size() && u.first[k].node == path_[k].node &&
           u.first[k].otherwise == path_[k].otherwise)
      ++k;
    u.common = k;
  }

  const Sdfg& s_;
  std::vector<Step> path_;
  std::vector<Name> order_;
  std::unordered_map<Name, Uses> uses_;
};

}  // namespace

bool IsScoped(Storage s) { return s == Storage::kRegister || s == Storage::kShared || s == Storage::kWorker; }

std::vector<Home> HomesOf(const Sdfg& s, const std::vector<NodeId>& statements) {
  return HomeFinder(s, statements).Found();
}

}  // namespace headrace
