// Random statements.
#include "tests/random_programs/generator_internal.h"

namespace headrace::testing {

Array* Generator::Writable() {
  std::vector<Array*> fit;
  for (Array& a : arrays_)
    if (a.writable && a.defined) fit.push_back(&a);
  return fit.empty() ? nullptr : rng_.Pick(fit);
}

std::string Generator::Value(Array* a, const std::vector<Var>& vars, bool whole) {
  const int depth = 1 + rng_.Below(4);
  if (a->dtype == DType::kBool) return Bool(vars, depth);
  if (!IsFloat(a->dtype)) return Int(a->dtype, vars, depth);
  Piece p = Float(a->dtype, vars, depth);
  if (nested_ == 0) {
    if (whole) a->known = p.known;
    else Join_(a, p.known);
    return p.text;
  }
  // In a loop a value is read again in the next round: it stays within what reads there were told.
  if (!a->known.exact) return "tanh(" + p.text + ")";
  if (!p.known.exact) return Literal(&p.known);
  return "clamp(floor(" + p.text + "), -8, 8)";
}

void Generator::EnterLoop() {
  if (nested_++ > 0) return;
  for (Array& a : arrays_) {
    if (!a.writable || !IsFloat(a.dtype)) continue;
    Join_(&a, {8, 0, !rng_.Chance(30)});
  }
}

void Generator::Fill(Array* a, const std::string& indent) {
  const std::vector<Var> vars = Vars(a->shape);
  std::vector<std::string> index;
  for (const Var& v : vars) index.push_back(v.name);
  const std::string value = Value(a, vars, true);
  Line(indent,
       vars.empty() ? a->name + " = " + value : MapHead(vars) + a->name + "[" + Join(index) + "] = " + value + " }");
  a->defined = true;
}

// Some of the elements: part of a range, with a step, from above, in another nesting.
void Generator::PartialWrite(Array* a, const std::string& indent) {
  if (a->shape.empty()) return Line(indent, a->name + " = " + Value(a, {}, false));
  std::vector<Var> vars = Vars(a->shape);
  std::string head, tail, index;
  for (const Var& v : vars) {
    std::string range = "0:" + v.extent;
    switch (rng_.Below(5)) {
      case 0: range = "1:" + v.extent; break;
      case 1: range = "0:" + v.extent + ":2"; break;
      case 2: range = "(" + v.extent + ") - 1:-1:-1"; break;
      case 3: range = "0:min(" + v.extent + ", 3)"; break;
      default: break;
    }
    const bool own = head.empty() || rng_.Chance(40);
    head += own ? (head.empty() ? "map " : " { map ") : ", ";
    if (own) tail += " }";
    head += v.name + " in " + range;
    index += (index.empty() ? "" : ", ") + v.name;
  }
  // A read of the target itself is only legal at the same element: the target is hidden while its value is made.
  a->defined = false;
  const std::string value = Value(a, vars, false);
  a->defined = true;
  const bool update = rng_.Chance(30) && a->dtype != DType::kBool && nested_ == 0;
  const std::string at = a->name + "[" + index + "]";
  if (update && IsFloat(a->dtype))
    a->known = {2 * a->known.hi, a->known.frac,
                a->known.exact && std::log2(std::max(2 * a->known.hi, 1.0)) + a->known.frac < MantissaBits(a->dtype)};
  Line(indent, head + " { " + at +
                   (update ? rng_.Chance(50) ? " += " + value : " = " + at + " + " + value : " = " + value) + tail);
}

// A row or the transpose of a matrix is written under another name.
void Generator::WriteThroughView(const std::string& indent) {
  std::vector<Array*> fit;
  for (Array& a : arrays_)
    if (a.defined && a.writable && !a.is_view && a.shape.size() == 2 && a.shape[0][0] != 'n') fit.push_back(&a);
  if (fit.empty()) return Fill(NewTransient(DType::kF32, {"N", "M"}), indent);
  Array* base = rng_.Pick(fit);
  const std::string v = Fresh("w"), type(DTypeName(base->dtype));
  std::vector<std::string> shape = {base->shape[1], base->shape[0]};
  std::string place = " strides [1, " + base->shape[1] + "]";
  if (rng_.Chance(50)) {
    shape = {base->shape[1]};
    place = " offset ((" + base->shape[0] + ") - 1) * (" + base->shape[1] + ")";
  }
  declarations_ << "  view " << v << ": " << type << "[" << Join(shape) << "] of " << base->name << place << "\n";
  const std::vector<Var> vars = Vars(shape);
  std::vector<std::string> index;
  for (const Var& x : vars) index.push_back(x.name);
  base->defined = false;  // not read while it is written elsewhere
  const std::string value = Value(base, vars, false);
  base->defined = true;
  Line(indent, MapHead(vars) + v + "[" + Join(index) + "] = " + value + " }");
}

void Generator::Reduce(const std::string& indent) {
  const DType t =
      rng_.Pick(std::vector<DType>{DType::kF32, DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kI8});
  const int index_rank = rng_.Below(3);
  std::vector<std::string> shape, inner;
  for (int i = 0; i < index_rank; ++i) shape.push_back(Size());
  for (int i = 0; i < 1 + rng_.Below(2); ++i) inner.push_back(Size());
  // The target reads nothing of itself: it is not defined yet.
  const std::vector<Var> kept = Vars(shape), reduced = Vars(inner);
  std::vector<Var> all = kept;
  all.insert(all.end(), reduced.begin(), reduced.end());
  std::string op = rng_.Pick(std::vector<std::string>{"+=", "+=", "max=", "min=", "*="});
  Piece p;
  Known result{8, 0, true};
  if (IsFloat(t)) {
    p = Float(t, all, 2);
    if (op == "*=") {
      p = {"tanh(" + p.text + ")", {1, 0, false}};
      result = {2, 0, false};
    } else if (op == "+=") {
      p.text = p.known.exact ? "clamp(floor(" + p.text + "), -4, 4)" : "tanh(" + p.text + ")";
      // At most (2 * 130)^2 addends of at most 4.
      result = {300000, 0, p.known.exact};
    } else {
      result = {std::max(p.known.hi, 1.0), p.known.frac, p.known.exact};
    }
  } else {
    p.text = Int(t, all, 2);
  }
  Array* a = NewTransient(t, shape);
  std::vector<std::string> index;
  for (const Var& v : kept) index.push_back(v.name);
  const std::string at = a->name + (index.empty() ? "" : "[" + Join(index) + "]");
  const std::string start = op == "+=" ? "0" : "1";
  if (rng_.Chance(60)) {
    Line(indent, kept.empty() ? at + " = " + start : MapHead(kept) + at + " = " + start + " }");
    if (rng_.Chance(40)) std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept.size()), all.end());
    Line(indent, MapHead(all) + at + " " + op + " " + p.text + " }");
  } else {  // initialised inside of the outer map
    std::string outer = kept.empty() ? "" : MapHead(kept);
    Line(indent, outer + at + " = " + start + "; " + MapHead(reduced) + at + " " + op + " " + p.text + " }" +
                     (kept.empty() ? "" : " }"));
  }
  a->known = result;
  a->defined = true;
  if (nested_ > 0 && IsFloat(t)) {
    Line(indent,
         kept.empty() ? at + " = clamp(" + at + ", -8, 8)" : MapHead(kept) + at + " = clamp(" + at + ", -8, 8) }");
    a->known.hi = 8;
  }
}

void Generator::Scatter(const std::string& indent) {
  const Array* indices = nullptr;
  for (const Array& a : arrays_)
    if (a.index) indices = &a;
  if (indices == nullptr) return;
  const std::string count = indices->shape[0], idx = indices->name;
  const DType t = rng_.Pick(std::vector<DType>{DType::kF32, DType::kI32, DType::kI64});
  const std::vector<Var> vars = Vars({count});
  const std::string i = vars[0].name;
  const std::string size = Size();
  Piece p;
  if (IsFloat(t)) {
    p = Float(t, vars, 2);
    p.text = p.known.exact ? "clamp(floor(" + p.text + "), -4, 4)" : "tanh(" + p.text + ")";
  } else {
    p.text = Int(t, vars, 2);
  }
  Array* a = NewTransient(t, {size});
  Fill(a, indent);
  if (rng_.Chance(50))
    Line(indent, MapHead(vars) + a->name + "[i64(" + idx + "[" + i + "]) % (" + size + ")] += " + p.text + " }");
  else
    Line(indent, MapHead(vars) + a->name + "[i64(" + idx + "[" + i + "]) - 1] ?? " +
                     rng_.Pick(std::vector<std::string>{"+=", "max="}) + " " + p.text + " }");
  if (IsFloat(t)) {
    a->known = {a->known.hi + 2000, a->known.frac, a->known.exact && p.known.exact && a->known.frac < 8};
    if (nested_ > 0) {
      const std::vector<Var> again = Vars({size});
      Line(indent, MapHead(again) + a->name + "[" + again[0].name + "] = clamp(" + a->name + "[" + again[0].name +
                       "], -8, 8) }");
      a->known.hi = 8;
    }
  }
}

// A value private to each iteration, used twice.
void Generator::RegisterBody(const std::string& indent) {
  std::vector<std::string> shape = Shape(2);
  if (shape.empty()) shape.push_back("N");
  const std::vector<Var> vars = Vars(shape);
  Array r;
  r.name = Fresh("r");
  r.dtype = DType::kF32;
  Piece p = Float(DType::kF32, vars, 2);
  declarations_ << "  transient " << r.name << ": f32 @register\n";
  Piece q{"(" + r.name + " + " + r.name + ")", {2 * p.known.hi, p.known.frac, p.known.exact}};
  q.known = Checked(q.known, DType::kF32, &q.text);
  if (nested_ > 0) q = {"tanh(" + q.text + ")", {1, 0, false}};
  Array* a = NewTransient(DType::kF32, shape);
  std::vector<std::string> index;
  for (const Var& v : vars) index.push_back(v.name);
  Line(indent, MapHead(vars) + r.name + " = " + p.text + "; " + a->name + "[" + Join(index) + "] = " + q.text + " }");
  a->known = q.known;
  a->defined = true;
}

void Generator::TriangularSum(const std::string& indent) {
  const std::string size = rng_.Pick(std::vector<std::string>{"N", "M"});
  std::vector<Var> vars = Vars({size, size});
  Piece p = Float(DType::kF32, vars, 1);
  p.text = p.known.exact ? "clamp(floor(" + p.text + "), -4, 4)" : "tanh(" + p.text + ")";
  Array* a = NewTransient(DType::kF32, {size});
  const std::string i = vars[0].name, j = vars[1].name, at = a->name + "[" + i + "]";
  Line(indent, "map " + i + " in 0:" + size + " { " + at + " = 0; map " + j + " in 0:" + i + " + 1 { " + at +
                   " += " + p.text + " } }");
  a->known = {1000, 0, p.known.exact};
  a->defined = true;
  if (nested_ > 0) {
    Line(indent, "map " + i + " in 0:" + size + " { " + at + " = clamp(" + at + ", -8, 8) }");
    a->known.hi = 8;
  }
}

void Generator::ForLoop(int depth, const std::string& indent) {
  EnterLoop();
  const std::string t = Fresh("t");
  if (rng_.Chance(20)) Line(indent, "for " + t + " = 1; " + t + " < M; " + t + " = " + t + " * 2 {");
  else
    Line(indent,
         "for " + t + " in " + rng_.Pick(std::vector<std::string>{"0:3", "2:-1:-1", "0:4:2", "0:min(N, 3)"}) + " {");
  loop_vars_.push_back(t);
  const size_t visible = arrays_.size();
  for (int k = 1 + rng_.Below(3); k > 0; --k) Statement(depth + 1);
  if (rng_.Chance(15))
    Line(Indent(depth + 1), "if " + t + " == 1 { " + (rng_.Chance(50) ? "break" : "continue") + " }");
  loop_vars_.pop_back();
  Line(indent, "}");
  for (size_t k = visible; k < arrays_.size(); ++k)
    arrays_[k].defined = arrays_[k].writable = false;  // the loop may not run
  --nested_;
}

void Generator::WhileLoop(int depth, const std::string& indent) {
  Array* c = NewTransient(DType::kI64, {});
  const std::string counter = c->name;
  c->writable = false;
  EnterLoop();
  Line(indent, counter + " = 0");
  const size_t visible = arrays_.size();
  const bool endless = rng_.Chance(50);
  Line(indent, endless ? "loop {" : "while " + counter + " < " + std::to_string(rng_.Below(4)) + " {");
  for (int k = 1 + rng_.Below(2); k > 0; --k) Statement(depth + 1);
  Line(Indent(depth + 1), counter + " += 1");
  if (endless) Line(Indent(depth + 1), "if " + counter + " > 2 { break }");
  Line(indent, "}");
  for (size_t k = visible; k < arrays_.size(); ++k) arrays_[k].defined = arrays_[k].writable = false;
  --nested_;
}

void Generator::Branch(int depth, const std::string& indent) {
  std::string condition = rng_.Chance(50) ? "N > " + std::to_string(rng_.Below(4)) : Bool({}, 1);
  EnterLoop();  // either side may run: values stay within common bounds
  Line(indent, "if " + condition + " {");
  const size_t visible = arrays_.size();
  for (int k = 1 + rng_.Below(2); k > 0; --k) Statement(depth + 1);
  for (size_t k = visible; k < arrays_.size(); ++k) arrays_[k].defined = arrays_[k].writable = false;
  if (rng_.Chance(60)) {
    const size_t then = arrays_.size();
    Line(indent, "} else {");
    for (int k = 1 + rng_.Below(2); k > 0; --k) Statement(depth + 1);
    for (size_t k = then; k < arrays_.size(); ++k) arrays_[k].defined = arrays_[k].writable = false;
  }
  Line(indent, "}");
  --nested_;
}

void Generator::CallSdfg(const std::string& indent) {
  std::vector<const Array*> fit;
  for (const Array& a : arrays_)
    if (a.defined && a.dtype == DType::kF32 && a.known.exact && !a.shape.empty() && a.shape.size() <= 2)
      fit.push_back(&a);
  if (fit.empty()) return;
  const Array x = *rng_.Pick(fit);
  const std::string name = Fresh("callee");
  std::vector<std::string> dims(x.shape.size());
  for (size_t d = 0; d < dims.size(); ++d) dims[d] = d == 0 ? "A" : "B";
  const bool rows = dims.size() == 2 && rng_.Chance(50);
  if (rows) dims = {"B"};
  const std::vector<Var> vars = Vars(dims);
  std::vector<std::string> index;
  for (const Var& v : vars) index.push_back(v.name);
  sdfgs_ << "sdfg " << name << "(x: f32[" << Join(dims) << "], y: f32[" << Join(dims)
         << "], k: symbol) {\n  transient h: f32[" << Join(dims) << "]\n  " << MapHead(vars) << "h[" << Join(index)
         << "] = clamp(floor(x[" << Join(index) << "]), -8, 8) + k }\n  " << MapHead(vars) << "y[" << Join(index)
         << "] = h[" << Join(index) << "] * (x[" << index[0] << " - 1" << (index.size() > 1 ? ", " + index[1] : "")
         << "] ?? 1) }\n}\n";
  Array* y = NewTransient(DType::kF32, x.shape);
  const std::string k = std::to_string(rng_.Below(5));
  if (rows) {
    const std::string i = Fresh("i");
    Line(indent, "map " + i + " in 0:" + x.shape[0] + " { call " + name + "(x = " + x.name + "[" + i +
                     ", :], y = " + y->name + "[" + i + ", :], k := " + k + ") }");
  } else {
    Line(indent, "call " + name + "(x = " + x.name + ", y = " + y->name + ", k := " + k + ")");
  }
  y->known = {12 * std::max(x.known.hi, 1.0), x.known.frac,
              std::log2(12 * std::max(x.known.hi, 1.0)) + x.known.frac < 22};
  y->defined = true;
  if (nested_ > 0) { y->writable = false; }
}

// The same elements under another shape, or every second one of them.
void Generator::View() {
  std::vector<Array*> fit;
  for (Array& a : arrays_)
    if (a.defined && a.writable && !a.is_view && a.shape.size() == 2) fit.push_back(&a);
  if (fit.empty()) return;
  const Array base = *rng_.Pick(fit);
  Array v;
  v.name = Fresh("v");
  v.dtype = base.dtype;
  v.known = base.known;
  v.is_view = true;
  v.defined = true;
  v.base = base.name;
  const std::string type = std::string(DTypeName(v.dtype));
  if (rng_.Chance(50)) {
    v.shape = {base.shape[1], base.shape[0]};
    declarations_ << "  view " << v.name << ": " << type << "[" << Join(v.shape) << "] of " << base.name
                  << " strides [1, " << base.shape[1] << "]\n";
  } else {
    v.shape = {base.shape[1]};
    declarations_ << "  view " << v.name << ": " << type << "[" << Join(v.shape) << "] of " << base.name << "\n";
  }
  // The base is frozen from here, so that what is known of the view stays true.
  for (Array& a : arrays_)
    if (a.name == base.name) a.writable = false;
  arrays_.push_back(v);
}

void Generator::SizeFromData(const std::string& indent) {
  const Array* indices = nullptr;
  for (const Array& a : arrays_)
    if (a.index) indices = &a;
  if (indices == nullptr || nested_ > 0) return;
  const std::string n = Fresh("n");
  Line(indent, "let " + n + " = 1 + i64(" + indices->name + "[0]) % 4");
  Fill(NewTransient(DType::kF32, {n}), indent);
}

void Generator::Statement(int depth) {
  const std::string indent = Indent(depth);
  const int choice = rng_.Below(depth >= 2 ? 12 : 20);
  if (choice <= 3) {
    const DType t = AnyType();
    Array* made = NewTransient(t, Shape(3));
    if (nested_ > 0 && IsFloat(t)) made->known = {8, 0, !rng_.Chance(30)};
    return Fill(made, indent);
  }
  if (choice <= 6) {
    if (o_.views && rng_.Chance(20)) return WriteThroughView(indent);
    if (Array* a = Writable()) return PartialWrite(a, indent);
    return Fill(NewTransient(DType::kF32, Shape(2)), indent);
  }
  if (choice <= 8) return Reduce(indent);
  if (choice == 9) return RegisterBody(indent);
  if (choice == 10) return TriangularSum(indent);
  if (choice == 11) return o_.scatter ? Scatter(indent) : Reduce(indent);
  if (choice <= 13 && o_.loops) return ForLoop(depth, indent);
  if (choice == 14 && o_.loops) return WhileLoop(depth, indent);
  if (choice <= 16) return Branch(depth, indent);
  if (choice == 17 && o_.calls) return CallSdfg(indent);
  if (choice == 18 && o_.views) return View();
  if (choice == 19 && o_.sizes_from_data && depth == 0) return SizeFromData(indent);
  Fill(NewTransient(AnyType(), Shape(2)), indent);
}

RandomProgram Generator::Run() {
  RandomProgram p;
  auto input = [&](const std::string& name, DType t, std::vector<std::string> shape, int64_t below = 0) {
    Array a;
    a.name = name;
    a.dtype = t;
    a.shape = shape;
    a.defined = true;
    a.index = below > 0;
    a.known = {4, 2, true};
    arrays_.reserve(1024);
    arrays_.push_back(a);
    p.inputs.push_back({name, t, shape, below});
  };
  input("X", DType::kF32, {"N", "M"});
  input("I", DType::kI64, {"M"}, 7);
  const int more = 1 + rng_.Below(3);
  for (int k = 0; k < more; ++k) input("A" + std::to_string(k), AnyType(), Shape(2));
  for (int k = 0; k < o_.statements; ++k) Statement(0);

  // Every container that is still whole goes out, so nothing computed is dead.
  std::string signature;
  for (const RandomProgram::Input& i : p.inputs) {
    signature += (signature.empty() ? "" : ", ") + i.name + ": " + std::string(DTypeName(i.dtype)) +
                 (i.shape.empty() ? "" : "[" + Join(i.shape) + "]");
  }
  std::vector<Array> results;
  for (const Array& a : arrays_) {
    bool from_data = false;
    for (const std::string& d : a.shape) from_data |= d[0] == 'n';
    if (a.defined && a.name[0] != 'X' && a.name[0] != 'I' && a.name[0] != 'A' && !from_data) results.push_back(a);
  }
  const size_t keep = std::min<size_t>(results.size(), 6);
  for (size_t k = results.size() - keep; k < results.size(); ++k) {
    const Array& a = results[k];
    const std::string out = "Y" + std::to_string(k);
    signature +=
        ", " + out + ": " + std::string(DTypeName(a.dtype)) + (a.shape.empty() ? "" : "[" + Join(a.shape) + "]");
    const std::vector<Var> vars = Vars(a.shape);
    std::vector<std::string> index;
    for (const Var& v : vars) index.push_back(v.name);
    const std::string at = index.empty() ? "" : "[" + Join(index) + "]";
    Line("  ", vars.empty() ? out + " = " + a.name : MapHead(vars) + out + at + " = " + a.name + at + " }");
    p.outputs.push_back({out, !IsFloat(a.dtype) || a.known.exact});
  }
  p.text = "entry sdfg program(" + signature + ") {\n  assume 1 <= N <= 130\n  assume 1 <= M <= 130\n" +
           declarations_.str() + body_.str() + "}\n" + sdfgs_.str();
  return p;
}

RandomProgram Generate(uint64_t seed, const GeneratorOptions& o) { return Generator(seed, o).Run(); }

std::vector<std::pair<std::string, Tensor>> MakeInputs(const RandomProgram& p, uint64_t seed, int64_t n, int64_t m) {
  Rng rng(seed ^ 0x5eed);
  std::vector<std::pair<std::string, Tensor>> r;
  for (const RandomProgram::Input& i : p.inputs) {
    std::vector<int64_t> shape;
    for (const std::string& d : i.shape) {
      shape.push_back(d == "N" ? n : d == "M" ? m : d == "N + 1" ? n + 1 : d == "2 * M" ? 2 * m : std::stoll(d));
    }
    Tensor t = *Tensor::Create(i.dtype, shape);
    for (int64_t k = 0; k < t.elements(); ++k) {
      if (i.below > 0) t.SetInt(k, rng.Below(static_cast<int>(i.below)));
      else if (i.dtype == DType::kBool) t.SetInt(k, rng.Below(2));
      else if (IsFloat(i.dtype)) t.SetDouble(k, (rng.Below(33) - 16) / 4.0);
      else
        t.SetInt(k, rng.Chance(10) ? static_cast<int64_t>(rng.Next())
                                   : rng.Below(i.dtype == DType::kU8 ? 256 : 101) - (IsSigned(i.dtype) ? 50 : 0));
    }
    r.emplace_back(i.name, std::move(t));
  }
  return r;
}

}  // namespace headrace::testing
