// The verifier's entry points, and what concerns the program as a whole.
#include "ir/verify/verify.h"

#include "ir/verify/verify_impl.h"

namespace headrace {
namespace verify {
namespace {

// Calls that lead back to where they started.
class Recursion {
 public:
  Recursion(const Program& p, std::vector<Diagnostic>* out) : p_(p), out_(out) {}
  void Run() {
    for (const auto& s : p_.sdfgs) From(*s);
  }

 private:
  void From(const Sdfg& s) {
    if (done_.count(s.name)) return;
    if (!open_.insert(s.name).second) return;
    ForEachNode(s, [&](NodeId id) {
      auto* n = std::get_if<Nested>(&s.nodes[id].body);
      if (!n) return;
      if (open_.count(n->callee)) {
        Report r(s, out_);
        r.Add("E0252", "sdfg '" + n->callee.str() + "' calls itself", id, n->callee.str(),
              "recursion is not allowed; use a loop");
        return;
      }
      if (const Sdfg* f = p_.Find(n->callee)) From(*f);
    });
    open_.erase(s.name);
    done_.insert(s.name);
  }
  const Program& p_;
  std::vector<Diagnostic>* out_;
  std::unordered_set<Name> open_, done_;
};

}  // namespace
}  // namespace verify

Status Verify(const Program& p, const Sdfg& s) {
  std::vector<Diagnostic> out;
  verify::CheckBody(p, s, &out);
  return Status(std::move(out));
}

Status Verify(const Program& p) {
  std::vector<Diagnostic> out;
  std::unordered_set<Name> names;
  for (const auto& s : p.sdfgs) {
    verify::Report r(*s, &out);
    if (!names.insert(s->name).second)
      r.Add("E0202", "two sdfgs are named '" + s->name.str() + "'", {}, s->name.str(), "rename one of them");
  }
  verify::Recursion(p, &out).Run();
  if (out.empty())
    for (const auto& s : p.sdfgs) verify::CheckBody(p, *s, &out);
  return Status(std::move(out));
}

}  // namespace headrace
