// Sequences and optionals.
#include <algorithm>
#include <cstring>

#include "plugins/onnx/external/call.h"
#include "plugins/onnx/external/expand.h"

namespace onnx_ops::external {
namespace {

int64_t Position(int64_t at, int64_t count) {
  if (at < -count || at >= count)
    Fail("position " + std::to_string(at) + " is outside a sequence of " + std::to_string(count));
  return at < 0 ? at + count : at;
}

// Writes a value to an output, whatever it is.
void Put(Call& call, int output, const hr_value& v) {
  if (v.kind == HR_SEQUENCE) {
    call.AppendNothing(output);
    for (int64_t i = 0; i < v.count; ++i) call.Append(output, v.items[i]);
  } else if (v.kind == HR_TENSOR && v.dtype == HR_STRING) {
    std::vector<std::string> strings;
    for (int64_t i = 0; i < Count(ShapeOf(v)); ++i) strings.push_back(String(v, i));
    call.MakeStrings(output, ShapeOf(v), strings);
  } else if (v.kind == HR_TENSOR) {
    void* to = call.Make(output, v.dtype, ShapeOf(v));
    const int64_t bytes = Count(ShapeOf(v)) * Size(v.dtype);
    if (bytes > 0) std::memcpy(to, v.data, static_cast<size_t>(bytes));
  }
}

// Elements [begin, end) along an axis, as a value of its own.
struct Slice {
  Shape shape;
  std::vector<char> bytes;
  std::vector<std::string> strings;
  std::vector<hr_string> views;
  hr_value value{};
  Slice(const hr_value& x, int64_t axis, int64_t begin, int64_t end, bool keep) : shape(ShapeOf(x)) {
    const Split3 s = SplitAt(shape, axis);
    shape[static_cast<size_t>(axis)] = end - begin;
    value = x;
    const int64_t size = Size(x.dtype), run = (end - begin) * s.inner;
    if (x.dtype == HR_STRING) {
      for (int64_t o = 0; o < s.outer; ++o)
        for (int64_t i = 0; i < run; ++i) strings.push_back(String(x, (o * s.n + begin) * s.inner + i));
      for (const std::string& t : strings) views.push_back({t.data(), static_cast<int64_t>(t.size())});
      value.data = views.data();
    } else {
      bytes.resize(static_cast<size_t>(s.outer * run * size));
      for (int64_t o = 0; o < s.outer && run > 0; ++o)
        std::memcpy(bytes.data() + o * run * size,
                    static_cast<const char*>(x.data) + (o * s.n + begin) * s.inner * size,
                    static_cast<size_t>(run * size));
      value.data = bytes.data();
    }
    if (!keep) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    value.rank = static_cast<int32_t>(shape.size());
    value.shape = shape.data();
  }
};

}  // namespace

HR_ONNX_FUNCTION(onnx_sequence_construct) {
  const int out = call.Output("output_sequence");
  call.AppendNothing(out);
  for (int i = 0; i < call.Inputs("inputs"); ++i) call.Append(out, call.Input("inputs", i));
}

HR_ONNX_FUNCTION(onnx_sequence_empty) { call.AppendNothing(call.Output("output")); }

HR_ONNX_FUNCTION(onnx_sequence_at) {
  const hr_value& s = call.Sequence("input_sequence");
  Put(call, call.Output("tensor"), s.items[Position(call.Scalar("position", 0), s.count)]);
}

HR_ONNX_FUNCTION(onnx_sequence_insert) {
  const hr_value& s = call.Sequence("input_sequence");
  const int64_t given = call.Scalar("position", s.count);
  const int64_t at = given == s.count ? given : Position(given, s.count);
  const int out = call.Output("output_sequence");
  for (int64_t i = 0; i < s.count; ++i) {
    if (i == at) call.Append(out, call.Input("tensor"));
    call.Append(out, s.items[i]);
  }
  if (at == s.count) call.Append(out, call.Input("tensor"));
}

HR_ONNX_FUNCTION(onnx_sequence_erase) {
  const hr_value& s = call.Sequence("input_sequence");
  const int64_t at = Position(call.Scalar("position", -1), s.count);
  const int out = call.Output("output_sequence");
  call.AppendNothing(out);
  for (int64_t i = 0; i < s.count; ++i)
    if (i != at) call.Append(out, s.items[i]);
}

HR_ONNX_FUNCTION(onnx_sequence_length) {
  *call.Make<int64_t>("length", HR_I64, {}) = call.Sequence("input_sequence").count;
}

// `split` is one length for all pieces but the last, or a length for each; without it, pieces of
// one.
HR_ONNX_FUNCTION(onnx_split_to_sequence) {
  const hr_value& x = call.Tensor("input");
  Require(x.rank > 0, "a scalar can't be split");
  const int64_t axis = WrapAxis(call.Int("axis", 0), x.rank), n = x.shape[axis];
  const hr_value* split = call.Find("split");
  std::vector<int64_t> lengths;
  if (split && split->rank > 0) {
    lengths = Ints(*split);
    int64_t sum = 0;
    for (int64_t l : lengths) {
      Require(l >= 0 && l <= n, "a piece has a damaged length");
      sum += l;
    }
    if (sum != n)
      Fail("the pieces have " + std::to_string(sum) + " elements together, the axis has " + std::to_string(n));
  } else {
    const int64_t length = split ? ToInt(*split, 0) : 1;
    Require(length > 0, "pieces must have at least one element");
    for (int64_t at = 0; at < n; at += std::min(length, n - at)) lengths.push_back(std::min(length, n - at));
  }
  const bool keep = split != nullptr || call.Int("keepdims", 1) != 0;
  const int out = call.Output("output_sequence");
  call.AppendNothing(out);
  int64_t at = 0;
  for (int64_t l : lengths) {
    call.Append(out, Slice(x, axis, at, at + l, keep).value);
    at += l;
  }
}

HR_ONNX_FUNCTION(onnx_concat_from_sequence) {
  const hr_value& s = call.Sequence("input_sequence");
  Require(s.count > 0, "an empty sequence can't be joined: the result's shape is not known");
  const bool fresh = call.Int("new_axis", 0) != 0;
  const hr_value& first = s.items[0];
  Require(first.kind == HR_TENSOR, "the sequence must hold tensors");
  const int64_t axis = WrapAxis(call.Int("axis", 0), first.rank + fresh);
  Shape shape = ShapeOf(first);
  if (fresh) shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  shape[static_cast<size_t>(axis)] = 0;
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < s.count; ++i) {
    const hr_value& t = s.items[i];
    Require(t.kind == HR_TENSOR && t.dtype == first.dtype && t.rank == first.rank,
            "the sequence's tensors differ in type or rank");
    for (int32_t d = 0; d < t.rank; ++d)
      if ((fresh || d != axis) && t.shape[d] != first.shape[d])
        Fail("the sequence's tensors have shapes " + Text(ShapeOf(first)) + " and " + Text(ShapeOf(t)));
    lengths.push_back(fresh ? 1 : t.shape[axis]);
    shape[static_cast<size_t>(axis)] += lengths.back();
  }
  const Split3 all = SplitAt(shape, axis);
  const int out = call.Output("concat_result");
  const int64_t size = Size(first.dtype);
  std::vector<std::string> strings;
  char* to = first.dtype == HR_STRING ? nullptr : static_cast<char*>(call.Make(out, first.dtype, shape));
  for (int64_t o = 0; o < all.outer; ++o)
    for (int64_t i = 0; i < s.count; ++i) {
      const int64_t run = lengths[static_cast<size_t>(i)] * all.inner;
      if (first.dtype == HR_STRING) {
        for (int64_t k = 0; k < run; ++k) strings.push_back(String(s.items[i], o * run + k));
      } else if (run > 0) {
        std::memcpy(to, static_cast<const char*>(s.items[i].data) + o * run * size, static_cast<size_t>(run * size));
        to += run * size;
      }
    }
  if (first.dtype == HR_STRING) call.MakeStrings(out, shape, strings);
}

HR_ONNX_FUNCTION(onnx_same) {
  if (const hr_value* v = call.Find("input")) Put(call, call.Output("output"), *v);
}

// An optional tensor read from a file may arrive as a sequence of one.
HR_ONNX_FUNCTION(onnx_optional_get) {
  const hr_value* v = call.Find("input");
  if (!v) Fail("the optional has no element");
  const bool tensor = call.Int("tensor", 0) != 0;
  Put(call, call.Output("output"), tensor && v->kind == HR_SEQUENCE && v->count == 1 ? v->items[0] : *v);
}

HR_ONNX_FUNCTION(onnx_optional_has) { *call.Make<uint8_t>("output", HR_BOOL, {}) = call.Find("input") != nullptr; }

void Call::AppendNothing(int output) {
  hr_value& v = raw_->outputs[output];
  if (v.kind != HR_SEQUENCE && raw_->append(raw_, output, nullptr) != 0)
    Fail("output " + outputs_[static_cast<size_t>(output)] + " is no sequence");
}

void RegisterSequences(Registrar& r) {
  for (const char* f :
       {"sequence_construct", "sequence_empty", "sequence_at", "sequence_insert", "sequence_erase", "sequence_length",
        "split_to_sequence", "concat_from_sequence", "same", "optional_get", "optional_has"})
    AddFunction(r, f);
  Add(r, "SequenceConstruct", "sequence_construct");
  Add(r, "SequenceEmpty", "sequence_empty");
  Add(r, "SequenceAt", "sequence_at");
  Add(r, "SequenceInsert", "sequence_insert");
  Add(r, "SequenceErase", "sequence_erase");
  Add(r, "SequenceLength", "sequence_length");
  Add(r, "SplitToSequence", "split_to_sequence");
  Add(r, "ConcatFromSequence", "concat_from_sequence");
  Add(r, "Identity", "same", [](const Node& n) {
    return n.input("input")->rank < 0 || n.input("input")->dtype == HR_STRING
               ? ""
               : "serves sequences, optionals and strings only";
  });
  Add(r, "Optional", "same");
  r.impl("OptionalGetElement", "external", nullptr, [](const Node& n) {
    std::string text = CallText(n, "optional_get");
    return text.insert(text.find("{inputs = ") + 1,
                       std::string("tensor = ") + (n.output("output")->rank < 0 ? "0" : "1") + ", ");
  });
  Add(r, "OptionalHasElement", "optional_has");
}

}  // namespace onnx_ops::external
