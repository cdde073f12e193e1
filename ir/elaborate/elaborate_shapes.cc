// Shape forms: instead of maps, the sizes and known elements of outputs.
#include <algorithm>

#include "ir/elaborate/elaborate.h"
#include "ir/elaborate/elaborate_internal.h"

namespace headrace {
namespace elaborate {

namespace {

bool DependsOnIndex(const Expr& e) {
  const std::vector<Name> names = FreeSymbols(e);
  return std::any_of(names.begin(), names.end(), IsReserved);
}

}  // namespace

std::map<Name, FormOutput> Elaborator::RunShapes() {
  std::map<Name, FormOutput> found;
  shapes_ = &found;
  BindPorts();
  BindAttributes();
  CollectGroups(form_.statements);
  Statements(form_.statements);
  return found;
}

// The containers of an output's name: several of a variadic one, none of one that the node does not have.
std::vector<Name> Elaborator::OutputsNamed(Name name, Place at) const {
  std::vector<Name> all;
  const Name one = ContainerOf(name, env_);
  if (!one.empty()) all = {one};
  else if (auto list = variadic_.find(name); list != variadic_.end()) all = list->second;
  else if (absent_outputs_.count(name)) return {};
  else Fail(at, "'" + name.str() + "' is no output of this op", KnownNames());
  for (Name n : all)
    if (!outputs_.count(n)) Fail(at, "'" + name.str() + "' is no output: a shape form says what outputs are like");
  return all;
}

// A list of integers: lists among `parts` are spread, `shape Y[dims(X), 3]`.
std::vector<Expr> Elaborator::Integers(const std::vector<Expr>& parts, const char* what) {
  use_remembered_ = true;
  let_cache_.clear();
  std::vector<Expr> out;
  for (const Expr& part : parts) {
    Val v = Eval(part, env_, {true});
    if (v.nothing()) Fail(At(part), "there is nothing here: an absent port or unset attribute", "give a default with ?:");
    if (v.unsolved() || (v.kind != Val::kScalar && v.kind != Val::kList))
      Fail(At(part), std::string(what) + " must be an integer or a list of them");
    for (const Expr& e : v.kind == Val::kScalar ? std::vector<Expr>{v.e} : v.items) {
      if (DependsOnIndex(e))
        Fail(At(part), std::string(what) + " must be known when the node is made: " + ToString(part) + " is not",
             "of an input that is read, the number of elements must be a number");
      Expr number = AsIndexLiteral(e);
      if (number.Is(ExprKind::kBool)) number = IntExpr(number->ivalue);
      if (number.Is(ExprKind::kFloat)) Fail(At(part), std::string(what) + " must be an integer, found " + ToString(e));
      out.push_back(number);
    }
  }
  return out;
}

void Elaborator::RunShape(const FormStmt& s) {
  const Place at{s.line, s.column};
  std::vector<Expr> sizes = Integers(s.index, "a size");
  for (Expr& e : sizes) {
    const TypeScope scope{&s_, has_f64_};
    e = IsIndexExpr(e) ? Simplify(e) : TypeIndex(scope, e, at);
    if (AsInt(e) && *AsInt(e) < 0) Fail(at, "a size of '" + s.name.str() + "' would be negative: " + ToString(e));
  }
  for (Name n : OutputsNamed(s.name, at)) {
    FormOutput& out = (*shapes_)[n];
    out.has_shape = true;
    out.shape = sizes;
    s_.Mutable(n).shape = sizes;  // later statements may ask for dims(Y)
  }
}

// `Y = dims(X)`: elements, where none of them has to be computed from data.
void Elaborator::RunKnown(const FormStmt& s) {
  const Place at{s.line, s.column};
  if (s.has_index || s.op != WriteOp::kAssign)
    Fail(at, "a shape form gives an output's elements as one list: " + s.name.str() + " = …");
  std::vector<Expr> elements = Integers({s.value}, "an element");
  for (Expr& e : elements) {
    if (!IsIndexExpr(e)) return;
    e = Simplify(e);
  }
  for (Name n : OutputsNamed(s.name, at)) {
    FormOutput& out = (*shapes_)[n];
    int64_t count = 1;
    for (const Expr& d : out.shape) {
      const std::optional<int64_t> size = AsInt(d);
      if (!size || __builtin_mul_overflow(count, *size, &count)) return;
    }
    if (!out.has_shape || count != static_cast<int64_t>(elements.size()))
      Fail(at, std::to_string(elements.size()) + " elements are given for '" + s.name.str() + "'",
           "its sizes come first and must fit: shape " + s.name.str() + "[…]");
    out.has_known = true;
    out.known = elements;
  }
}

}  // namespace elaborate

Result<std::vector<FormOutput>> EvaluateShapes(const Form& form, const FormContext& context) {
  FormContext bare = context;
  for (FormPort& p : bare.outputs) p.shape.clear(), p.known.clear(), p.has_known = false;
  std::map<Name, FormOutput> found;
  std::vector<Name> names;
  try {
    elaborate::Elaborator elaborator(form, bare);
    found = elaborator.RunShapes();
    names = elaborator.OutputNames();
  } catch (const elaborate::FormError& e) { return elaborate::FormStatus(form, e); }
  std::vector<FormOutput> out;
  for (Name n : names) out.push_back(found[n]);
  return out;
}

}  // namespace headrace
