// Expressions → C++ text. Equal subexpressions are computed once, as locals, where evaluation is unconditional; selects
// become blends where both sides are safe to compute and branches where one may report an error.
#pragma once
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/cpu/writer.h"
#include "ir/expr/expr.h"

namespace headrace::cpu {

// How names are spelled where the code stands.
class Env {
 public:
  virtual ~Env() = default;
  virtual std::string Symbol(Name n) = 0;
  virtual std::string Pointer(Name base) = 0;  // typed pointer to the container's first element
  virtual std::string Element(Name base, const std::string& index) { return Pointer(base) + "[" + index + "]"; }
  virtual std::string Context() = 0;  // the hr_x*, for reporting errors
  virtual const Assumptions& Known() = 0;
  int next_temp = 0;
  // Where a condition must hold for an access to be inside, it stands around it as a choice: nothing is read ahead of it.
  bool reads_stay_in_choices = false;
  bool flushes = false;  // subnormal floats are zero
};

class ExprCode {
 public:
  ExprCode(Env& env, Writer& w) : env_(env), w_(w) {}
  void Use(const Expr& e);                    // announce every root before the first Value()
  std::string Value(const Expr& e);           // text of C++ type ValueType(TypeOf(e)); may write locals first
  std::string Value(const Expr& e, DType t);  // converted
  std::string Index(const Expr& e) { return Value(e, DType::kIndex); }
  DType TypeOf(const Expr& e);
  // Reads of `base` at `linear` are spelled `text` from here on (an accumulator in a register).
  void Bind(const Expr& e, const std::string& text);

 private:
  struct Node {
    Expr e;
    DType type;
    std::vector<int> args;
    int uses = 0, size = 1;
    bool safe = true;  // no error report inside
    std::string local;
  };
  int Number(const Expr& e);
  void Count(int id);
  std::string Text(int id, bool hoist);
  std::string Arg(int id, DType t, bool hoist);
  std::string Compute(Node& n, bool hoist);
  std::string Select(int id, int c, int a, int b, bool hoist);
  std::string Binary(const Node& n, bool hoist);
  std::string Call(const Node& n, bool hoist);
  std::string Read(const Node& n, bool hoist);
  std::string Sides(int id, const std::string& cond, int a, int b, bool hoist);
  std::string Choice(const std::string& cond, int a, int b);
  std::string Bad(const Node& n, bool hoist);
  bool NonNegative(const Expr& e);
  bool ReadsYet(int id) const;  // whether some memory it needs was not read into a local

  Env& env_;
  Writer& w_;
  std::vector<Node> nodes_;
  std::unordered_map<const void*, int> by_pointer_;
  std::unordered_map<std::string, int> by_key_;
  std::vector<Expr> keep_;  // by_pointer_ needs the trees alive
  std::string apart_;       // what is added to the addresses of reads
};

// A number of elements as C++ text. Products and sums of sizes are checked: what is too large for int64 is no small array.
std::string CountText(const Expr& e, const std::function<std::string(const Expr&)>& text);

// A condition of memory accesses as it stands in a loop of lanes, or in one that is not to become vectors (see Choice).
std::string AloneCode(const std::string& condition, const Writer& w);

// Removes one pair of parentheses around all of `s`: for conditions and right-hand sides.
std::string Bare(const std::string& s);

}  // namespace headrace::cpu
