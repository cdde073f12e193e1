// Where an error of a run comes from.
#include "backends/cpu/code_style.h"
#include "backends/cpu/codegen_sdfg_internal.h"

namespace headrace::cpu {

// Statements have numbers in the function they are printed in; functions that are called, by calls or as equal stretches,
// have a range of numbers in their caller. On the way out of a failed run every function adds its own (hr_at), and the sum
// is the statement's index in the entry's list, whose origins the host has: the code does not depend on names and places.
std::string SdfgGen::Leave() const {
  return in_nest_ || site_ == 0 ? "return x->stop;" : "return hr_at(x, " + std::to_string(site_) + ");";
}

int SdfgGen::NewSite(const Origin& o) {
  sites_.push_back(o);
  return static_cast<int>(sites_.size()) - 1;
}

int SdfgGen::Append(const std::vector<Origin>& inner, const Origin& otherwise) {
  const int base = static_cast<int>(sites_.size());
  for (const Origin& o : inner) sites_.push_back(o.known() ? o : otherwise);
  return base;
}

std::string SdfgGen::LeaveCall(Name callee) {
  if (in_nest_) return Leave();
  const auto at = names_.sites.find(callee);  // callees come first; one that can't be generated has none
  if (at == names_.sites.end()) return Leave();
  const std::vector<Origin>& inner = at->second;
  if (sites_.size() + inner.size() > kStyle.sites) return "return hr_is(x, " + std::to_string(site_) + ");";
  const Origin call = sites_[static_cast<size_t>(site_)];
  return "return hr_at(x, " + std::to_string(Append(inner, call)) + ");";
}

}  // namespace headrace::cpu
