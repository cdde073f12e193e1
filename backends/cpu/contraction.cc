#include "backends/cpu/contraction.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "backends/cpu/ctypes.h"

namespace headrace::cpu {
namespace {

int64_t Extent(const LoopDim& d) { return AsInt(d.trip).value_or(1 << 16); }

std::optional<int64_t> Stride(const Expr& e, Name index) {
  const auto c = Coefficient(e, index);
  return c ? AsInt(*c) : std::nullopt;
}

// Reads' offsets in an operand.
bool HasUnitStride(const Expr& operand, Name index) {
  bool unit = false;
  Visit(operand, [&](const Expr& e) {
    if (e.Is(ExprKind::kRead)) unit |= Stride(e->args[0], index) == 1;
    return true;
  });
  return unit;
}

// How far apart in memory an operand's elements for consecutive values of the index are, at most.
int64_t Step(const Expr& operand, Name index) {
  int64_t step = 0;
  Visit(operand, [&](const Expr& e) {
    if (e.Is(ExprKind::kRead))
      step = std::max(step, std::abs(Stride(e->args[0], index).value_or(std::numeric_limits<int32_t>::max())));
    return true;
  });
  return step;
}

// Memory runs along the depth of the column operand, and its columns lie lines apart.
bool ColumnsRunAlongDepth(const Contraction& c) {
  constexpr int64_t kLine = 16;
  return Step(c.column_operand, c.column.index) >= kLine &&
         std::any_of(c.depth.begin(), c.depth.end(),
                     [&](const LoopDim& d) { return HasUnitStride(c.column_operand, d.index); });
}

int64_t Product(std::vector<LoopDim>::const_iterator from, std::vector<LoopDim>::const_iterator to) {
  int64_t product = 1;
  for (; from != to; ++from) product = Times(product, Extent(*from));
  return product;
}

// Panels hold the whole depth inside the first index: the longest index comes first, the one that memory runs along last,
// and where panels would still outgrow the cache (the batch in a weight gradient) the one with the longest steps becomes
// a loop around the product.
void OrderDepth(Contraction& c) {
  constexpr int64_t kDeep = 512;
  std::vector<LoopDim>& depth = c.depth;
  auto order = [&] {
    auto longer = [](const LoopDim& x, const LoopDim& y) { return Extent(x) > Extent(y); };
    std::stable_sort(depth.begin(), depth.end(), longer);
    std::vector<LoopDim> along = depth;
    std::stable_partition(along.begin(), along.end(), [&](const LoopDim& d) {
      return !HasUnitStride(c.row_operand, d.index) && !HasUnitStride(c.column_operand, d.index);
    });
    if (Product(along.begin() + 1, along.end()) <= kDeep) depth = std::move(along);
  };
  order();
  if (depth.size() < 2 || Product(depth.begin() + 1, depth.end()) <= kDeep) return;
  auto step = [&](const LoopDim& d) { return std::max(Step(c.row_operand, d.index), Step(c.column_operand, d.index)); };
  const auto far = std::max_element(depth.begin(), depth.end(),
                                    [&](const LoopDim& x, const LoopDim& y) { return step(x) < step(y); });
  std::vector<LoopDim> rest = depth;
  rest.erase(rest.begin() + (far - depth.begin()));
  const bool known = std::all_of(rest.begin(), rest.end(), [](const LoopDim& d) { return AsInt(d.trip).has_value(); });
  if (!known || Product(rest.begin(), rest.end()) < kDeep / 2) return;  // too little for each round
  c.around = *far;
  depth = std::move(rest);
  order();
}

}  // namespace

std::optional<Contraction> MatchContraction(const PerfectNest& p) {
  const LoweredStmt& s = p.stmt;
  if (p.ordered || s.op != WriteOp::kAdd || s.condition || HasReport(s)) return std::nullopt;
  if (s.dtype != DType::kF32 && s.dtype != DType::kF64 && s.dtype != DType::kI32) return std::nullopt;
  if (!s.value.Is(ExprKind::kBinary) || s.value->op != Op::kMul || Computed(s.value->dtype) != s.dtype)
    return std::nullopt;
  Contraction c;
  c.stmt = s;
  Expr a = s.value->args[0], b = s.value->args[1];
  std::vector<LoopDim> in_a, in_b;
  for (const LoopDim& d : p.dims) {
    if (!d.simple) return std::nullopt;
    const bool x = Mentions(a, d.index), y = Mentions(b, d.index), t = Mentions(s.linear, d.index);
    if (t && !d.disjoint) return std::nullopt;
    if (x && y && t) c.outer.push_back(d);
    else if (x && t) in_a.push_back(d);
    else if (y && t) in_b.push_back(d);
    else if (x && y) c.depth.push_back(d);
    else return std::nullopt;
  }
  if (in_a.empty() || in_b.empty() || c.depth.empty()) return std::nullopt;
  // Columns are the side that walks the target by one.
  auto walks = [&](const std::vector<LoopDim>& dims) {
    return std::any_of(dims.begin(), dims.end(), [&](const LoopDim& d) { return Stride(s.linear, d.index) == 1; });
  };
  if (walks(in_a) && !walks(in_b)) {
    std::swap(a, b);
    std::swap(in_a, in_b);
  }
  c.row_operand = a;
  c.column_operand = b;
  auto larger = [](const LoopDim& x, const LoopDim& y) { return Extent(x) < Extent(y); };
  const auto row = std::max_element(in_a.begin(), in_a.end(), larger);
  auto column =
      std::find_if(in_b.begin(), in_b.end(), [&](const LoopDim& d) { return Stride(s.linear, d.index) == 1; });
  if (column == in_b.end()) column = std::max_element(in_b.begin(), in_b.end(), larger);
  c.row = *row;
  c.column = *column;
  in_a.erase(row);
  in_b.erase(column);
  const auto row_stride = Coefficient(s.linear, c.row.index), column_stride = Coefficient(s.linear, c.column.index);
  if (!row_stride || !column_stride) return std::nullopt;
  c.row_stride = *row_stride;
  c.column_stride = *column_stride;
  Expr width = c.column.end;  // of what walks the target as one
  for (int64_t known = Extent(c.column); known <= 192;) {
    const auto next = std::find_if(in_b.begin(), in_b.end(), [&](const LoopDim& d) {
      const auto stride = Coefficient(s.linear, d.index);
      return stride && *stride == c.column_stride * width;
    });
    if (next == in_b.end()) break;
    if (c.column_outer) c.column_middle.push_back(*c.column_outer);
    c.column_outer = *next;
    width = width * next->end;
    known = Times(known, Extent(*next));
    in_b.erase(next);
  }
  c.outer.insert(c.outer.end(), in_a.begin(), in_a.end());
  c.outer.insert(c.outer.end(), in_b.begin(), in_b.end());
  int64_t columns = Times(Extent(c.column), c.column_outer ? Extent(*c.column_outer) : 1);
  for (const LoopDim& d : c.column_middle) columns = Times(columns, Extent(d));
  // Too thin for panels to pay: at once, or where a panel is turned round for a few rows.
  if (Extent(c.row) < 3 || columns < 8 || Product(c.depth.begin(), c.depth.end()) < 8) return std::nullopt;
  if (Extent(c.row) < 6 && ColumnsRunAlongDepth(c)) return std::nullopt;
  OrderDepth(c);
  return c;
}

ContractionCode EmitContraction(NestGen& gen, const Contraction& c, Writer& prologue) {
  NestEnv& env = gen.nest_env();
  const std::string type = ValueType(c.stmt.dtype);
  ContractionCode out;
  Writer w(1);
  Expr inner_width = c.column.end;  // columns per step of the outermost column index
  for (const LoopDim& d : c.column_middle) inner_width = inner_width * d.end;
  auto units = [&](Writer& to) {
    const std::string q = gen.IndexText(inner_width, to);
    std::string others = "1";
    for (const LoopDim& d : c.outer) others += " * hr_most(0, " + gen.IndexText(d.end, to) + ")";
    to.Line("const hr_cut cut = hr_cut_product(" + gen.IndexText(c.row.end, to) + ", " +
            (c.column_outer ? gen.IndexText(c.column_outer->end, to) + ", " + q : q + ", 1") + ", " + others + ");");
  };
  units(prologue);
  out.total = "cut.column_units * cut.row_units";
  for (const LoopDim& d : c.outer) out.total += " * hr_most(0, " + gen.IndexText(d.end, prologue) + ")";
  std::string work = "cut.row_step * cut.column_step";
  if (c.column_outer) work += " * (" + gen.IndexText(inner_width, prologue) + ")";
  for (const LoopDim& d : c.depth) work += " * " + gen.IndexText(d.end, prologue);
  if (c.around) work += " * " + gen.IndexText(c.around->end, prologue);
  out.grain = "hr_grain((" + work + ") / 16)";

  units(w);
  w.Open("for (int64_t q = begin; q < end; ++q) {");
  w.Line("int64_t rest = q;");
  w.Line("const int64_t column_first = rest % cut.column_units * cut.column_step;");
  w.Line("rest /= cut.column_units;");
  w.Line("const int64_t row_first = rest % cut.row_units * cut.row_step;");
  w.Line("rest /= cut.row_units;");
  for (size_t i = c.outer.size(); i-- > 0;) {
    const std::string trip = gen.IndexText(c.outer[i].end, w);
    w.Line("const int64_t " + env.OpenIndex(c.outer[i].index) + " = rest" + (i ? " % " + trip : "") + ";");
    if (i) w.Line("rest /= " + trip + ";");
  }
  w.Line("const int64_t row_end = hr_least(" + gen.IndexText(c.row.end, w) + ", row_first + cut.row_step);");
  // First element of the unit in the target.
  const LoopDim& tile = c.column_outer ? *c.column_outer : c.column;
  w.Line("const int64_t column_end = hr_least(" + gen.IndexText(tile.end, w) + ", column_first + cut.column_step);");
  const std::string width = c.column_outer ? gen.IndexText(inner_width, w) : "1";
  w.Line("const int64_t columns = (column_end - column_first) * " + width + ";");
  Expr first = Substitute(c.stmt.linear, {{c.row.index, IntExpr(0)}, {c.column.index, IntExpr(0)}});
  if (c.column_outer) first = Substitute(first, {{c.column_outer->index, IntExpr(0)}});
  for (const LoopDim& d : c.column_middle) first = Substitute(first, {{d.index, IntExpr(0)}});
  const std::string target = env.Pointer(c.stmt.base) + " + " + gen.IndexText(first, w) + " + column_first * " + width +
                             " * " + gen.IndexText(c.column_stride, w);
  std::string inner = c.depth.size() == 1 ? "1" : gen.IndexText(c.depth[1].end, w);
  for (size_t i = 2; i < c.depth.size(); ++i) inner += " * " + gen.IndexText(c.depth[i].end, w);
  if (c.around) gen.OpenLoop(*c.around, w);
  w.Line("hr_contract<" + type + ">(x, row_first, row_end, columns, " + gen.IndexText(c.depth[0].end, w) + ", " +
         inner + ", " + target + ", " + gen.IndexText(c.row_stride, w) + ", " + gen.IndexText(c.column_stride, w) +
         ",");
  auto depth_loops = [&](bool open) {
    if (!open) {
      for (size_t i = c.depth.size(); i-- > 1;) gen.CloseLoop(c.depth[i], w);
      w.Close();
      env.CloseIndex(c.depth[0].index);
      return;
    }
    const std::string k = env.OpenIndex(c.depth[0].index);
    w.Open("for (int64_t " + k + " = k0; " + k + " < k1; ++" + k + ") {");
    for (size_t i = 1; i < c.depth.size(); ++i) gen.OpenLoop(c.depth[i], w);
  };
  auto operand = [&](const Expr& e) {
    ExprCode code(env, w);
    code.Use(e);
    return Bare(code.Value(e, c.stmt.dtype));
  };
  // The last depth index by squares: its loop steps by them, `deep` of them at `at`.
  const LoopDim& last = c.depth.back();
  const bool only = c.depth.size() == 1;
  auto open_squares = [&] {
    if (!only) {
      const std::string k = env.OpenIndex(c.depth[0].index);
      w.Open("for (int64_t " + k + " = k0; " + k + " < k1; ++" + k + ") {");
      for (size_t i = 1; i + 1 < c.depth.size(); ++i) gen.OpenLoop(c.depth[i], w);
    }
    w.Line("const int64_t below = " + (only ? "k1" : gen.IndexText(last.end, w)) + ";");
    w.Open("for (int64_t at = " + std::string(only ? "k0" : "0") + "; at < below; at += square.N) {");
    w.Line("const int64_t deep = hr_least(square.N, below - at);");
  };
  auto close_squares = [&] {
    w.Close();
    if (only) return;
    for (size_t i = c.depth.size() - 1; i-- > 1;) gen.CloseLoop(c.depth[i], w);
    w.Close();
    env.CloseIndex(c.depth[0].index);
  };
  auto fill_square = [&](const LoopDim& across, const std::string& from, const std::string& count, const Expr& value) {
    w.Open("for (int64_t u = 0; u < " + count + "; ++u) {");
    w.Line("const int64_t " + env.OpenIndex(across.index) + " = " + from + " + u;");
    auto row = [&](const std::string& below) {
      w.Line("#pragma omp simd");
      w.Open("for (int64_t v = 0; v < " + below + "; ++v) {");
      w.Line("const int64_t " + env.OpenIndex(last.index) + " = at + v;");
      w.Line("square.at[u][v] = " + operand(value) + ";");
      w.Close();
      env.CloseIndex(last.index);
    };
    w.Open("if (deep == square.N) {");
    row("square.N");
    w.Close();
    w.Open("else {");
    row("deep");
    w.Close();
    w.Close();
    env.CloseIndex(across.index);
    w.Line("hr_transpose(&square);");
  };
  // ---- rows: strips of HR_ROWS ----
  w.Open("  [&](" + type + "* to, int64_t row, int64_t count, int64_t k0, int64_t k1, int64_t depth) {");
  if (HasUnitStride(c.row_operand, c.row.index)) {  // strip by strip as memory lies
    w.Open("for (int64_t s = 0; s < count; s += HR_ROWS) {");
    w.Line(type + "* out = to + s * depth;");
    auto strip = [&](const std::string& height) {
      depth_loops(true);
      w.Open("for (int64_t r = 0; r < " + height + "; ++r) {");
      w.Line("const int64_t " + env.OpenIndex(c.row.index) + " = row + s + r;");
      w.Line("out[r] = " + operand(c.row_operand) + ";");
      w.Close();
      env.CloseIndex(c.row.index);
      w.Line("out += HR_ROWS;");
      depth_loops(false);
    };
    w.Open("if (count - s >= HR_ROWS) {");
    strip("HR_ROWS");
    w.Close();
    w.Open("else {");
    strip("count - s");
    w.Close();
    w.Close();
  } else if (HasUnitStride(c.row_operand, last.index) && Extent(last) >= 8) {
    w.Open("for (int64_t s = 0; s < count; s += HR_ROWS) {");
    w.Line(type + "* out = to + s * depth;");
    w.Line("hr_square<" + type + "> square;");
    w.Line("const int64_t height = hr_least(HR_ROWS, count - s);");
    open_squares();
    fill_square(c.row, "row + s", "height", c.row_operand);
    w.Line("for (int64_t k = 0; k < deep; ++k, out += HR_ROWS) __builtin_memcpy(out, square.at[k], HR_ROWS * sizeof(" +
           type + "));");
    close_squares();
    w.Close();
  } else {
    w.Open("for (int64_t r = 0; r < count; ++r) {");
    w.Line("const int64_t " + env.OpenIndex(c.row.index) + " = row + r;");
    w.Line(type + "* out = to + r / HR_ROWS * HR_ROWS * depth + r % HR_ROWS;");
    depth_loops(true);
    w.Line("*out = " + operand(c.row_operand) + ";");
    w.Line("out += HR_ROWS;");
    depth_loops(false);
    w.Close();
    env.CloseIndex(c.row.index);
  }
  w.Close("  },");
  // ---- columns: row by row of depth, or along the depth ----
  const bool along_depth = ColumnsRunAlongDepth(c);
  w.Open("  [&](" + type + "* to, int64_t ld, int64_t k0, int64_t k1) {");
  const std::string begin = c.column_outer ? "0" : "column_first",
                    end = c.column_outer ? gen.IndexText(c.column.end, w) : "column_end";
  std::string position;
  auto open_outer = [&] {
    position = c.column_outer ? "" : "column_first";
    if (!c.column_outer) return;
    const std::string p = env.OpenIndex(c.column_outer->index);
    w.Open("for (int64_t " + p + " = column_first; " + p + " < column_end; ++" + p + ") {");
    position = "(" + p + " - column_first) * " + width;
    for (size_t i = c.column_middle.size(); i-- > 0;) {  // outermost first
      const LoopDim& d = c.column_middle[i];
      Expr stride = c.column.end;
      for (size_t k = 0; k < i; ++k) stride = stride * c.column_middle[k].end;
      const std::string end_of = gen.IndexText(d.end, w), j = env.OpenIndex(d.index);
      w.Open("for (int64_t " + j + " = 0; " + j + " < " + end_of + "; ++" + j + ") {");
      position += " + " + j + " * " + gen.IndexText(stride, w);
    }
  };
  auto close_outer = [&] {
    if (!c.column_outer) return;
    for (const LoopDim& d : c.column_middle) gen.CloseLoop(d, w);
    w.Close();
    env.CloseIndex(c.column_outer->index);
  };
  auto place = [&](const std::string& j) { return c.column_outer ? position + " + " + j : j + " - " + position; };
  if (along_depth && !c.column_outer) {  // some columns at a time: lines are read and written whole
    w.Open("for (int64_t j0 = column_first; j0 < column_end; j0 += 16) {");
    w.Line("const int64_t j1 = hr_least(column_end, j0 + 16);");
    w.Line(type + "* out = to + j0 - column_first;");
    depth_loops(true);
    gen.SplitLoop(c.column, "j0", "j1", c.column_operand, true, w, [&](const Expr& value, const std::string& j) {
      w.Line("out[" + j + " - j0] = " + operand(value) + ";");
    });
    w.Line("out += ld;");
    depth_loops(false);
    w.Close();
  } else if (along_depth) {
    open_outer();
    gen.SplitLoop(c.column, begin, end, c.column_operand, false, w, [&](const Expr& value, const std::string& j) {
      w.Line(type + "* out = to + " + place(j) + ";");
      depth_loops(true);
      w.Line("*out = " + operand(value) + ";");
      w.Line("out += ld;");
      depth_loops(false);
    });
    close_outer();
  } else {
    depth_loops(true);
    open_outer();
    gen.SplitLoop(c.column, begin, end, c.column_operand, true, w, [&](const Expr& value, const std::string& j) {
      w.Line("to[" + place(j) + "] = " + operand(value) + ";");
    });
    close_outer();
    w.Line("to += ld;");
    depth_loops(false);
  }
  w.Close("  });");
  if (c.around) gen.CloseLoop(*c.around, w);
  for (const LoopDim& d : c.outer) env.CloseIndex(d.index);
  w.Close();
  out.body = w.text();
  return out;
}

}  // namespace headrace::cpu
