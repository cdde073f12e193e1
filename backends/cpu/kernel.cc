#include "backends/cpu/kernel.h"

#include <algorithm>

#include "backends/cpu/access.h"
#include "backends/cpu/ctypes.h"

namespace headrace::cpu {

std::string KernelEnv::Symbol(Name n) {
  if (auto it = indices_.find(n); it != indices_.end()) return Take(it->second, "int64_t "), it->second;
  auto [it, fresh] = symbol_.emplace(n, "n" + std::to_string(symbols.size()));
  if (fresh) symbols.push_back(n);
  Take(it->second, "int64_t ");
  return it->second;
}

std::string KernelEnv::Pointer(Name base) {
  auto [it, fresh] = pointer_.emplace(base, "p" + std::to_string(pointers.size()));
  if (fresh) pointers.push_back(base);
  if (!taking_.empty()) Take(it->second, PointerType(base, taking_.back().written.count(base) > 0, taking_.back().options));
  return it->second;
}

std::string KernelEnv::Element(Name base, const std::string& index) {
  auto it = registers_.find(base);
  if (it == registers_.end()) return Pointer(base) + "[" + index + "]";
  const Container& c = s_.Get(base);
  if (c.storage == Storage::kWorker && !c.shape.empty()) Take(it->second, std::string(StorageType(c.dtype)) + "* __restrict ");
  return s_.Get(base).shape.empty() ? it->second : it->second + "[" + index + "]";
}

std::string KernelEnv::OpenIndex(Name index) {
  const std::string name = "i" + std::to_string(next_index_++);
  for (Taking& t : taking_) t.known.insert(name);
  return indices_[index] = name;
}

void KernelEnv::BeginTaking(const std::set<Name>& written, const KernelOptions& o) { taking_.push_back({written, o, {}, {}}); }

Taken KernelEnv::EndTaking() {
  Taken taken = std::move(taking_.back().taken);
  taking_.pop_back();
  return taken;
}

void KernelEnv::Take(const std::string& name, const std::string& type) {
  for (Taking& t : taking_) {
    if (!t.known.insert(name).second) continue;
    t.taken.formals += (t.taken.formals.empty() ? "" : ", ") + type + name;
    t.taken.actuals += (t.taken.actuals.empty() ? "" : ", ") + name;
  }
}

std::string KernelEnv::OpenRegister(const Container& c) {
  const std::string name = "r" + std::to_string(registers_.size());
  registers_[c.name] = c.shape.empty() && c.storage == Storage::kWorker ? "(*" + name + ")" : name;
  return name;
}

void KernelEnv::DeclareRegister(const Container& c, Writer& w) {
  const std::string name = OpenRegister(c);
  if (c.shape.empty()) return w.Line(std::string(StorageType(c.dtype)) + " " + name + ";");
  int64_t count = 1;
  for (const Expr& d : c.shape) count *= std::max<int64_t>(1, AsInt(d).value_or(1));
  w.Line(std::string(StorageType(c.dtype)) + " " + name + "[" + std::to_string(count) + "];");
}

std::string KernelEnv::PointerType(Name base, bool written, const KernelOptions& o) const {
  return std::string(written ? "" : "const ") + StorageType(s_.Get(base).dtype) + "* " + (o.restrict_pointers ? "__restrict " : "");
}

std::string KernelEnv::Parameters(const std::set<Name>& written, const KernelOptions& o) const {
  std::string p = "hr_x* x";
  for (size_t i = 0; i < pointers.size(); ++i) p += ", " + PointerType(pointers[i], written.count(pointers[i]) > 0, o) + "p" + std::to_string(i);
  for (size_t i = 0; i < symbols.size(); ++i) p += ", int64_t n" + std::to_string(i);
  return p;
}

std::string KernelEnv::Arguments() const {
  std::string a = "x";
  for (size_t i = 0; i < pointers.size(); ++i) a += ", p" + std::to_string(i);
  for (size_t i = 0; i < symbols.size(); ++i) a += ", n" + std::to_string(i);
  return a;
}

std::set<Name> WrittenBy(const Sdfg& s, const std::vector<NodeId>& statements) {
  std::set<Name> out;
  for (NodeId n : statements)
    for (const RawAccess& a : AccessesOf(s, n))
      if (a.write) out.insert(BaseOf(s, a.container));
  return out;
}

}  // namespace headrace::cpu
