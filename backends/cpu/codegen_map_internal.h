// Shared by the files that put kernels together.
#pragma once
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "backends/cpu/codegen_map.h"
#include "backends/cpu/ctypes.h"
#include "backends/cpu/hoist.h"

namespace headrace::cpu {

// Scalar operations that are worth a thread's while.
inline constexpr int64_t kChunkWork = 65536;

inline std::string Product(const std::vector<std::string>& factors) {
  std::string s;
  for (const std::string& f : factors) s += (s.empty() ? "" : " * ") + f;
  return s.empty() ? "1" : s;
}

// Puts the function together: `part` is the body over [begin, end) of `total` units of `work` operations each.
class KernelText {
 public:
  KernelText(const Sdfg& s, NodeId n, KernelEnv& env, const KernelOptions& o) : s_(s), env_(env), options_(o) {
    for (const RawAccess& a : AccessesOf(s, n))
      if (a.write) written_.insert(BaseOf(s, a.container));
  }
  std::string Parameters(bool names_only) const {
    std::string p = names_only ? "x" : "hr_x* x";
    for (size_t i = 0; i < env_.pointers.size(); ++i) {
      const Name n = env_.pointers[i];
      p += names_only ? ", "
                      : std::string(", ") + (written_.count(n) ? "" : "const ") + StorageType(s_.Get(n).dtype) + "* " +
                            (options_.restrict_pointers ? "__restrict " : "");
      p += "p" + std::to_string(i);
    }
    for (size_t i = 0; i < env_.symbols.size(); ++i)
      p += std::string(names_only ? ", " : ", int64_t ") + "n" + std::to_string(i);
    return p;
  }
  Kernel Sequential(const std::string& body) const {
    Kernel k;
    k.parameters = Parameters(false);
    k.text = "void $K(" + k.parameters + ") {\n" + body + "}\n";
    return Finish(k);
  }
  Kernel Parallel(const std::string& body, const std::string& prologue, const std::string& total,
                  const std::string& grain) const {
    Kernel k;
    k.parameters = Parameters(false);
    k.text = "static void $K_part(" + k.parameters + ", int64_t begin, int64_t end) {\n" + body + "}\n" + "void $K(" +
             k.parameters + ") {\n" + prologue + "  hr_chunks(x, " + total + ", " + grain +
             ", [&](int64_t begin, int64_t end) { $K_part(" + Parameters(true) + ", begin, end); });\n}\n";
    return Finish(k);
  }
  // `body` computes the partial results of chunks [begin, end) of n terms; `combine` puts them together.
  Kernel WithPartials(const std::string& body, const std::string& prologue, const std::string& combine,
                      const std::string& type, const std::string& n, const std::string& grain,
                      const std::string& count) const {
    env_.may_fail = true;
    Kernel k;
    k.parameters = Parameters(false);
    k.text = "static void $K_part(" + k.parameters + ", " + type +
             "* partial, int64_t n, int64_t grain, int64_t begin, int64_t end) {\n" + body + "}\nvoid $K(" +
             k.parameters + ") {\n" + prologue + "  const int64_t n = " + n + ", grain = " + grain +
             ", chunks = n > 0 ? (n + grain - 1) / grain : 0;\n  const hr_mark mark = hr_begin(x);\n  " + type +
             "* partial = (" + type + "*)hr_take(x, chunks * " + count + " * (int64_t)sizeof(" + type +
             "));\n  if (!partial) return;\n" + "  hr_chunks(x, chunks, 1, [&](int64_t begin, int64_t end) { $K_part(" +
             Parameters(true) + ", partial, n, grain, begin, end); });\n" + combine + "  hr_release(x, mark);\n}\n";
    return Finish(k);
  }
  Kernel Finish(Kernel k) const {
    k.pointers = env_.pointers;
    k.symbols = env_.symbols;
    k.may_fail = env_.may_fail;
    return k;
  }

 private:
  const Sdfg& s_;
  KernelEnv& env_;
  const KernelOptions& options_;
  std::set<Name> written_;
};

// How many units make a chunk: `inner` loops of `cost` operations per unit of `tile` elements, as C++ text.
std::string Grain(NestGen& gen, const std::vector<LoopDim>& inner, int64_t cost, int64_t tile, Writer& prologue);
// Opens the loop over units and names the indices of `dims` (outermost first) within it.
void DecodeUnits(NestGen& gen, const std::vector<LoopDim>& dims, const std::string& tiles, Writer& w);
std::string UnitCount(NestGen& gen, const std::vector<LoopDim>& dims, Writer& prologue);
// Outer dimensions to spread over threads: enough of them for some hundred units.
std::vector<LoopDim> TakeParallel(std::vector<LoopDim>* dims);

// ---- codegen_reduction.cc ----
// Sums over everything into few elements: partial results per chunk of the first reduced dimension, combined in order.
Kernel TwoPhase(NestGen& gen, KernelEnv& env, const KernelText& text, const PerfectNest& p,
                const std::vector<LoopDim>& free, std::vector<LoopDim> reduced, int64_t free_count);
// Lanes over a free dimension, but too few elements to share out: as above, with arrays of partial results.
Kernel TwoPhaseLanes(NestGen& gen, KernelEnv& env, const KernelText& text, const PerfectNest& p, const LoopDim& vector,
                     const std::vector<LoopDim>& free, std::vector<LoopDim> reduced, int64_t count);
// Sums that land where the data says (rows of an embedding's gradient): the dimensions that decide go in order, lanes and
// threads lie over the others, so that no two threads meet in an element and the order of each sum is the program's.
Kernel Scatter(NestGen& gen, const KernelText& text, const PerfectNest& p, const LoopDim& vector,
               std::vector<LoopDim> free, const std::vector<LoopDim>& reduced);

}  // namespace headrace::cpu
