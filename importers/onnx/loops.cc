#include "importers/onnx/loops.h"

#include <algorithm>

#include "importers/onnx/onnx_types.h"

namespace headrace::onnx_import {

struct Lowering::Snapshot {
  Emitter emit;
  size_t errors, report, journal;
};

Status LoopLowering::Fail(const std::string& message, std::string got) {
  Diagnostic d;
  d.code = "E0543";
  d.message = message;
  d.got = std::move(got);
  return Status(d);
}

namespace {

constexpr int kMaxLowerings = 6;  // of one body: each makes at least one more size vary

// An optional sequence may become a sequence: both are handles.
bool SameKind(const Val& a, const Val& b) {
  const bool x = a->type.kind == ValueType::kTensor, y = b->type.kind == ValueType::kTensor;
  return x == y && a->type.dtype == b->type.dtype;
}

// The carried value as what follows the loop sees it.
Val After(const Val& carried, const Val& next) {
  if (carried->type.kind == next->type.kind) return carried;
  auto v = std::make_shared<ValueInfo>(*carried);
  v->type = next->type;
  v->proto = next->proto;
  return v;
}

}  // namespace

bool LoopLowering::Enter(std::vector<Carried>* carried) {
  for (Carried& c : *carried) {
    auto v = std::make_shared<ValueInfo>();
    v->name = c.initial->name;
    v->type = c.initial->type;
    v->proto = ToTypeProto(*c.initial);
    c.varies.resize(c.initial->shape.size());
    c.symbols.assign(c.initial->shape.size(), Name());
    for (size_t d = 0; d < c.initial->shape.size(); ++d) {
      if (!c.varies[d]) {
        v->shape.push_back(c.initial->shape[d]);
        continue;
      }
      c.symbols[d] = l_.emit.Unique(Identifier(v->name, "t") + "_n" + std::to_string(d));
      v->shape.push_back(SymbolExpr(c.symbols[d]));
      l_.emit.Append(Assign{c.symbols[d], c.initial->shape[d]});
    }
    v->container = l_.NewContainer(v->name + "_carried", *v, v->shape);
    v->body = l_.emit.body();
    c.value = v;
    l_.CopyValue(v->container, c.initial);
  }
  return true;
}

bool LoopLowering::Leave(std::vector<Carried>* carried, const std::vector<Val>& next) {
  bool settled = true;
  for (size_t i = 0; i < carried->size(); ++i) {
    Carried& c = (*carried)[i];
    const Val& v = next[i];
    if (!SameKind(c.initial, v)) {
      l_.Report(Fail("carried value " + std::to_string(i) + " changes its type in the body",
                     TypeText(ToTypeProto(*c.initial)) + ", then " + TypeText(ToTypeProto(*v))),
                call_);
      return true;
    }
    if (v->shape.size() != c.initial->shape.size()) {
      l_.Report(UnsupportedError("E0544",
                                 "carried value " + std::to_string(i) + " changes its rank in the body"), call_);
      return true;
    }
    for (size_t d = 0; d < v->shape.size(); ++d)
      if (!c.varies[d] && !(v->shape[d] == c.initial->shape[d])) {
        c.varies[d] = true;
        settled = false;
      }
  }
  if (!settled) return false;
  // All new values are read before any is replaced; those of changing size move through a copy whose size has its own name.
  std::vector<Val> staged(next.size());
  for (size_t i = 0; i < carried->size(); ++i) {
    const Carried& c = (*carried)[i];
    const Val& v = next[i];
    if (v->container == c.value->container) continue;
    const bool changes = std::any_of(c.varies.begin(), c.varies.end(), [](bool b) { return b; });
    const bool another = !v->container.empty() && std::any_of(carried->begin(), carried->end(), [&](const Carried& o) {
      return o.value->container == v->container;
    });
    staged[i] = v;
    if (!changes && !another) continue;
    auto copy = std::make_shared<ValueInfo>(*v);
    copy->constant.reset();
    copy->known.reset();
    for (size_t d = 0; d < v->shape.size(); ++d)
      if (c.varies[d]) {
        Name size = l_.emit.Unique(Identifier(c.value->name, "t") + "_m" + std::to_string(d));
        l_.emit.Append(Assign{size, v->shape[d]});
        copy->shape[d] = SymbolExpr(size);
      }
    copy->container = l_.NewContainer(c.value->name + "_next", *copy, copy->shape);
    copy->body = l_.emit.body();
    l_.CopyValue(copy->container, v);
    staged[i] = copy;
  }
  for (size_t i = 0; i < carried->size(); ++i)
    for (size_t d = 0; staged[i] && d < (*carried)[i].symbols.size(); ++d)
      if ((*carried)[i].varies[d]) l_.emit.Append(Assign{(*carried)[i].symbols[d], staged[i]->shape[d]});
  for (size_t i = 0; i < carried->size(); ++i)
    if (staged[i]) l_.CopyValue((*carried)[i].value->container, staged[i]);
  return true;
}

bool LoopLowering::BoundBeforeLoop(const Expr& e, const std::vector<Name>& made) const {
  for (Name s : FreeSymbols(e))
    if (std::find(made.begin(), made.end(), s) != made.end()) return false;
  return true;
}

void LoopLowering::Put(Name target, const Val& element, int64_t axis, const Expr& at) {
  const Name source = l_.Materialize(element);
  l_.emit.Elementwise(
      target, element->shape, [&](const std::vector<Expr>& i) { return ReadExpr(source, i); },
      [&](const std::vector<Expr>& i) {
        std::vector<Expr> place = i;
        place.insert(place.begin() + axis, at);
        return place;
      });
}

Val LoopLowering::Slice(const Val& whole, int64_t axis, const Expr& at, const std::string& name) {
  auto v = std::make_shared<ValueInfo>();
  v->name = name;
  v->type = whole->type;
  v->shape = whole->shape;
  v->shape.erase(v->shape.begin() + axis);
  const Name source = l_.Materialize(whole);
  v->container = l_.NewContainer(name, *v, v->shape);
  v->body = l_.emit.body();
  l_.emit.Elementwise(v->container, v->shape, [&](const std::vector<Expr>& i) {
    std::vector<Expr> place = i;
    place.insert(place.begin() + axis, at);
    return ReadExpr(source, place);
  });
  return v;
}

// The gathered result as output `output`: the container itself, its first `counted` entries, or a joined sequence.
void LoopLowering::Gather(const std::string& output, const Gathered& g, const Expr& trips, const Expr& counted,
                          bool may_stop) {
  if (output.empty()) return;
  auto v = std::make_shared<ValueInfo>();
  v->name = output;
  v->type = g.element->type;
  v->shape = g.element->shape;
  v->body = l_.emit.body();
  if (g.sequence) {
    Library join;
    join.domain = "onnx";
    join.op = "ConcatFromSequence";
    join.version = 11;
    join.attributes = {{"axis", Attribute{g.axis}}, {"new_axis", Attribute{int64_t{1}}}};
    v->shape.insert(v->shape.begin() + g.axis, Expr());
    for (size_t d = 0; d < v->shape.size(); ++d)
      if (!v->shape[d] || !AsInt(v->shape[d])) {
        Name symbol = l_.emit.Unique(Identifier(output, "t") + "_d" + std::to_string(d));
        join.defines.push_back(symbol);
        v->shape[d] = SymbolExpr(symbol);
      }
    v->container = l_.NewContainer(output, *v, v->shape);
    join.inputs = {{"input_sequence", g.container}};
    join.outputs = {{"concat_result", v->container}};
    l_.emit.Statement(std::move(join));
  } else if (may_stop) {
    Name symbol = l_.emit.Unique(Identifier(output, "t") + "_d" + std::to_string(g.axis));
    l_.emit.Append(Assign{symbol, counted});
    v->shape.insert(v->shape.begin() + g.axis, SymbolExpr(symbol));
    v->container = l_.NewContainer(output, *v, v->shape);
    l_.emit.Copy(v->container, g.container, v->shape);
  } else {
    v->shape.insert(v->shape.begin() + g.axis, trips);
    v->container = g.container;
  }
  l_.journal_.push_back(v);
  scope_.values[output] = v;
}

bool LoopLowering::LoopOnce(std::vector<Carried>* carried, bool* again) {
  const onnx::GraphProto& body = call_.Attr("body")->g();
  Emitter& emit = l_.emit;
  const size_t errors = l_.errors.size();
  const int n = static_cast<int>(carried->size());
  const Val limit = call_.In(0) ? call_.inputs[0] : nullptr, start = call_.In(1) ? call_.inputs[1] : nullptr;
  Expr trips;
  if (limit) {
    trips = l_.ScalarOf(limit);
    if (!IsIndexExpr(trips)) {
      Name symbol = emit.Unique("trips");
      emit.Append(Assign{symbol, CallExpr("max", {trips, IntExpr(0)})});
      trips = SymbolExpr(symbol);
    } else if (auto t = AsInt(trips)) {
      trips = IntExpr(std::max<int64_t>(*t, 0));
    } else if (ProveLe(IntExpr(0), trips) != Truth::kYes) {
      trips = Max(trips, IntExpr(0));
    }
  }
  const size_t first_block = emit.sdfg.blocks.size(), first_node = emit.sdfg.nodes.size();
  Enter(carried);
  const Name var = emit.Unique("iter");
  // Inside an iteration the condition held, or it would not run.
  Val keep_going;
  Name running, count;
  auto flag = [&](const Val& from) {
    if (running.empty()) {
      ValueInfo b;
      b.type.dtype = DType::kBool;
      running = l_.NewContainer("running", b, {});
    }
    Tasklet t;
    t.target = running;
    Expr value = from ? l_.ScalarOf(from) : BoolExpr(true);
    if (value.Is(ExprKind::kInt)) value = BoolExpr(value->ivalue != 0);
    t.value = value;
    emit.Statement(std::move(t));
  };
  emit.OpenBody();
  Scope inner;
  inner.parent = &scope_;
  inner.opsets = scope_.opsets;
  inner.prefix = scope_.prefix;
  if (body.input_size() > 0)
    inner.values[body.input(0).name()] = l_.ScalarValue(body.input(0).name(), DType::kI64, SymbolExpr(var));
  if (body.input_size() > 1)
    inner.values[body.input(1).name()] = l_.ScalarValue(body.input(1).name(), DType::kBool, IntExpr(1));
  for (int i = 0; i < n; ++i) inner.values[body.input(i + 2).name()] = (*carried)[static_cast<size_t>(i)].value;
  std::vector<Val> out = l_.LowerGraph(body, inner, call_);
  if (std::any_of(out.begin(), out.end(), [](const Val& v) { return !v; }) || l_.errors.size() > errors) return false;
  if (out[0]->type.dtype != DType::kBool) {
    l_.Report(Fail("the body's first output, the condition, must be a bool"), call_);
    return false;
  }
  auto constant_true = [](const Val& v) {
    return v->known && v->known->size() == 1 && AsInt((*v->known)[0]) == int64_t{1};
  };
  const bool stops_at_start = start && !constant_true(start), stops_inside = !constant_true(out[0]);
  const bool may_stop = stops_at_start || stops_inside;
  if (!trips && !may_stop) {
    l_.Report(UnsupportedError("E0545", "the loop has neither a trip count nor a condition that could end it"), call_);
    return false;
  }
  // Results gathered over iterations: in one array where the sizes are known before the loop.
  std::vector<Gathered> gathered;
  std::vector<Name> made;
  for (size_t k = first_block; k < emit.sdfg.blocks.size(); ++k)
    if (const auto* a = std::get_if<Assign>(&emit.sdfg.blocks[BlockId{static_cast<uint32_t>(k)}].control))
      made.push_back(a->symbol);
  for (size_t k = first_node; k < emit.sdfg.nodes.size(); ++k)
    if (const auto* lib = std::get_if<Library>(&emit.sdfg.nodes[NodeId{static_cast<uint32_t>(k)}].body))
      made.insert(made.end(), lib->defines.begin(), lib->defines.end());
  made.push_back(var);
  for (size_t i = static_cast<size_t>(n) + 1; i < out.size(); ++i) {
    Gathered g;
    g.element = out[i];
    if (out[i]->type.kind != ValueType::kTensor) {
      l_.Report(Fail("a scan output must be a tensor"), call_);
      return false;
    }
    g.sequence = !trips;
    for (const Expr& d : out[i]->shape) g.sequence = g.sequence || !BoundBeforeLoop(d, made);
    ValueInfo whole;
    whole.type = out[i]->type;
    std::vector<Expr> shape = out[i]->shape;
    const std::string stem =
        call_.node->output(static_cast<int>(i) - 1).empty() ? "scan" : call_.node->output(static_cast<int>(i) - 1);
    if (g.sequence) {
      whole.type.kind = ValueType::kSequence;
      whole.type.element = std::make_shared<ValueType>(out[i]->type);
      g.container = l_.NewContainer(stem + "_parts", whole, {});
      Library insert;
      insert.domain = "onnx";
      insert.op = "SequenceInsert";
      insert.version = 11;
      insert.inputs = {{"input_sequence", g.container}, {"tensor", l_.Materialize(out[i])}};
      insert.outputs = {{"output_sequence", g.container}};
      emit.Statement(std::move(insert));
    } else {
      shape.insert(shape.begin(), trips);
      g.container = l_.NewContainer(stem, whole, shape);
      Put(g.container, out[i], 0, SymbolExpr(var));
    }
    gathered.push_back(std::move(g));
  }
  const bool counts =
      may_stop && std::any_of(gathered.begin(), gathered.end(), [](const Gathered& g) { return !g.sequence; });
  if (counts) {
    ValueInfo c;
    c.type.dtype = DType::kI64;
    count = l_.NewContainer("count", c, {});
    Tasklet t;
    t.target = count;
    t.value = SymbolExpr(var) + 1;
    emit.Statement(std::move(t));
  }
  // The condition is read before the carried values change.
  if (may_stop) flag(out[0]);
  std::vector<Val> next(out.begin() + 1, out.begin() + 1 + n);
  const bool settled = Leave(carried, next);
  std::vector<BlockId> blocks = emit.CloseBody();
  if (l_.errors.size() > errors) return false;
  if (!settled) {
    *again = true;
    return true;
  }
  // Before the loop: the condition, the counter, empty sequences.
  if (may_stop) flag(start);
  if (counts) {
    Tasklet t;
    t.target = count;
    t.value = IntExpr(0);
    emit.Statement(std::move(t));
  }
  for (const Gathered& g : gathered)
    if (g.sequence) {
      Library empty;
      empty.domain = "onnx";
      empty.op = "SequenceEmpty";
      empty.version = 11;
      empty.attributes = {{"dtype", Attribute{int64_t{ToOnnxType(g.element->type.dtype)}}}};
      empty.outputs = {{"output", g.container}};
      emit.Statement(std::move(empty));
    }
  Loop loop;
  loop.var = var;
  loop.init = IntExpr(0);
  loop.update = SymbolExpr(var) + 1;
  if (trips) loop.condition = BinaryExpr(Op::kLt, SymbolExpr(var), trips);
  if (may_stop) {
    Expr go = ReadExpr(running, {});
    loop.condition = loop.condition ? BinaryExpr(Op::kAnd, loop.condition, go) : go;
  }
  loop.body = std::move(blocks);
  emit.Append(std::move(loop));
  for (int i = 0; i < n; ++i)
    if (i < call_.node->output_size() && !call_.node->output(i).empty())
      scope_.values[call_.node->output(i)] =
          After((*carried)[static_cast<size_t>(i)].value, next[static_cast<size_t>(i)]);
  for (size_t i = 0; i < gathered.size(); ++i)
    if (n + static_cast<int>(i) < call_.node->output_size())
      Gather(call_.node->output(n + static_cast<int>(i)), gathered[i], trips, counts ? ReadExpr(count, {}) : Expr(),
             may_stop);
  return true;
}

// Lowers the body until no more size turns out to change, each time from the state before.
void LoopLowering::Rounds(std::vector<Carried>* carried, bool (LoopLowering::*once)(std::vector<Carried>*, bool*)) {
  for (int round = 0; round < kMaxLowerings; ++round) {
    Lowering::Snapshot before{l_.emit, l_.errors.size(), l_.report.size(), l_.journal_.size()};
    bool again = false;
    if (!(this->*once)(carried, &again)) return l_.Poison(*call_.node, scope_);
    if (!again) return;
    for (size_t i = before.journal; i < l_.journal_.size(); ++i) l_.journal_[i]->container = Name();
    l_.journal_.resize(before.journal);
    l_.report.resize(before.report);
    l_.emit = std::move(before.emit);
  }
  l_.Report(UnsupportedError("E0546", "the sizes of carried values don't settle"), call_);
}

void LoopLowering::RunLoop() {
  const onnx::GraphProto& body = call_.Attr("body")->g();
  const int n = std::max(call_.node->input_size() - 2, 0);
  if (body.input_size() != n + 2 || body.output_size() < n + 1)
    return l_.Report(
        Fail("the body has " + std::to_string(body.input_size()) + " inputs and " + std::to_string(body.output_size()) +
             " outputs, the loop carries " + std::to_string(n) + " values"),
        call_);
  if (call_.node->output_size() > body.output_size() - 1)
    return l_.Report(Fail("the loop has more outputs than its body"), call_);
  std::vector<Carried> carried(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) {
    if (!call_.In(static_cast<size_t>(i) + 2)) return l_.Report(Fail("a carried value is absent"), call_);
    carried[static_cast<size_t>(i)].initial = call_.inputs[static_cast<size_t>(i) + 2];
  }
  Rounds(&carried, &LoopLowering::LoopOnce);
}

void Lowering::LowerLoop(const NodeCall& call, Scope& scope) { LoopLowering(*this, call, scope).RunLoop(); }

}  // namespace headrace::onnx_import
