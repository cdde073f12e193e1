// The functions called as a compiled program would: through hr_call. What the official node cases
// don't reach.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <numeric>

#include "plugins/onnx/external/call.h"

extern "C" {
int32_t onnx_topk(hr_call*);
int32_t onnx_nonzero(hr_call*);
int32_t onnx_compress(hr_call*);
int32_t onnx_unique(hr_call*);
int32_t onnx_boxes(hr_call*);
int32_t onnx_det(hr_call*);
int32_t onnx_string_split(hr_call*);
int32_t onnx_string_normalizer(hr_call*);
int32_t onnx_string_cast(hr_call*);
int32_t onnx_string_pick(hr_call*);
int32_t onnx_regex_full_match(hr_call*);
int32_t onnx_sequence_at(hr_call*);
int32_t onnx_concat_from_sequence(hr_call*);
int32_t onnx_tree_ensemble(hr_call*);
int32_t onnx_tree_regressor(hr_call*);
int32_t onnx_ngrams(hr_call*);
}

namespace {

using onnx_ops::external::Shape;

struct Value {
  int32_t dtype = 0;
  Shape shape;
  std::vector<char> bytes;
  std::vector<std::string> strings;
  std::vector<hr_string> views;
  hr_value View() {
    views.clear();
    for (const std::string& s : strings) views.push_back({s.data(), static_cast<int64_t>(s.size())});
    static char none;
    void* data = dtype == HR_STRING ? static_cast<void*>(views.data()) : bytes.empty() ? &none : bytes.data();
    return {HR_TENSOR, dtype, static_cast<int32_t>(shape.size()), 0, shape.data(), data, 0, nullptr};
  }
  template <typename T>
  std::vector<T> As() const {
    const T* p = reinterpret_cast<const T*>(bytes.data());
    return std::vector<T>(p, p + bytes.size() / sizeof(T));
  }
};

template <typename T>
Value Tensor(int32_t dtype, Shape shape, std::vector<T> data) {
  Value v;
  v.dtype = dtype, v.shape = std::move(shape);
  v.bytes.assign(reinterpret_cast<char*>(data.data()), reinterpret_cast<char*>(data.data() + data.size()));
  return v;
}
Value F32(Shape shape, std::vector<float> data) { return Tensor(HR_F32, std::move(shape), std::move(data)); }
Value I64(Shape shape, std::vector<int64_t> data) { return Tensor(HR_I64, std::move(shape), std::move(data)); }
Value Strings(Shape shape, std::vector<std::string> data) {
  Value v;
  v.dtype = HR_STRING, v.shape = std::move(shape), v.strings = std::move(data);
  return v;
}

// One call: inputs and outputs by name, sizes of outputs unknown.
class Caller {
 public:
  Caller& In(const std::string& port, Value v) {
    ins_.push_back(std::move(v));
    names(in_names_, port);
    return *this;
  }
  Caller& InSequence(const std::string& port, std::vector<Value> items) {
    items_.push_back(std::move(items));
    std::vector<hr_value> views;
    for (Value& v : items_.back()) views.push_back(v.View());
    sequence_ = std::move(views);
    ins_.emplace_back();
    names(in_names_, port);
    return *this;
  }
  Caller& Out(const std::string& port) {
    outs.emplace_back();
    names(out_names_, port);
    return *this;
  }
  Caller& Set(const std::string& name, const std::string& text) {
    attributes_.emplace_back(name, text);
    return *this;
  }
  // The error, or "".
  std::string Run(hr_function f) {
    attributes_.emplace_back("inputs", "[" + in_names_ + "]");
    attributes_.emplace_back("outputs", "[" + out_names_ + "]");
    std::vector<hr_attribute> attributes;
    for (const auto& [n, t] : attributes_) attributes.push_back({n.c_str(), t.c_str(), nullptr});
    std::vector<hr_value> in, out(outs.size());
    for (Value& v : ins_) {
      if (v.dtype != 0) in.push_back(v.View());
      else
        in.push_back(
            {HR_SEQUENCE, 0, 0, 0, nullptr, nullptr, static_cast<int64_t>(sequence_.size()), sequence_.data()});
    }
    hr_call call{};
    call.struct_size = sizeof call;
    call.n_inputs = static_cast<int32_t>(in.size()), call.n_outputs = static_cast<int32_t>(out.size());
    call.n_attributes = static_cast<int32_t>(attributes.size());
    call.inputs = in.data(), call.outputs = out.data(), call.attributes = attributes.data();
    call.host = this;
    call.allocate = [](hr_call* c, int32_t o, int32_t dtype, int32_t rank, const int64_t* shape) {
      Value& v = static_cast<Caller*>(c->host)->outs[static_cast<size_t>(o)];
      v.dtype = dtype, v.shape.assign(shape, shape + rank);
      const int64_t n = onnx_ops::external::Count(v.shape);
      if (dtype == HR_STRING) v.strings.resize(static_cast<size_t>(n));
      else v.bytes.resize(static_cast<size_t>(n * onnx_ops::external::Size(dtype)));
      c->outputs[o] = v.View();
      return 0;
    };
    call.set_strings = [](hr_call* c, int32_t o, const hr_string* strings, int64_t count) {
      Value& v = static_cast<Caller*>(c->host)->outs[static_cast<size_t>(o)];
      if (static_cast<int64_t>(v.strings.size()) != count) return 1;
      for (int64_t i = 0; i < count; ++i)
        v.strings[static_cast<size_t>(i)].assign(strings[i].data, static_cast<size_t>(strings[i].size));
      return 0;
    };
    call.append = [](hr_call*, int32_t, const hr_value*) { return 1; };
    call.fail = [](hr_call* c, const char* message) { static_cast<Caller*>(c->host)->error_ = message; };
    if (cancelled) call.cancelled = [](hr_call*) -> int32_t { return 1; };
    const int32_t rc = f(&call);
    EXPECT_EQ(rc != 0, !error_.empty());
    return error_;
  }
  std::vector<Value> outs;
  bool cancelled = false;

 private:
  static void names(std::string& list, const std::string& port) {
    list += (list.empty() ? "\"" : ", \"") + port + "\"";
  }
  std::vector<Value> ins_;
  std::deque<std::vector<Value>> items_;
  std::vector<hr_value> sequence_;
  std::string in_names_, out_names_, error_;
  std::vector<std::pair<std::string, std::string>> attributes_;
};

TEST(TopK, NaNIsLargestAndTiesKeepTheirOrder) {
  Caller c;
  c.In("X", F32({5}, {1, NAN, 3, 3, -INFINITY})).In("K", I64({1}, {4})).Out("Values").Out("Indices");
  ASSERT_EQ(c.Run(onnx_topk), "");
  EXPECT_EQ(c.outs[1].As<int64_t>(), (std::vector<int64_t>{1, 2, 3, 0}));
  EXPECT_TRUE(std::isnan(c.outs[0].As<float>()[0]));
  Caller smallest;
  smallest.In("X", F32({5}, {1, NAN, 3, 3, -INFINITY}))
      .In("K", I64({1}, {5}))
      .Out("Values")
      .Out("Indices")
      .Set("largest", "0");
  ASSERT_EQ(smallest.Run(onnx_topk), "");
  EXPECT_EQ(smallest.outs[1].As<int64_t>(), (std::vector<int64_t>{4, 0, 2, 3, 1}));
}

// Against a stable sort by comparisons: short lines and long ones, all of a line and its first few, each width of keys.
template <typename T>
void ComparesWithAStableSort(int32_t dtype, const std::vector<T>& some, int64_t n, int64_t k, bool largest) {
  std::vector<T> x(static_cast<size_t>(2 * n));
  uint32_t state = 1;
  for (T& v : x) v = some[(state = state * 1664525u + 1013904223u) >> 8 & 0xffff];
  Caller c;
  c.In("X", Tensor(dtype, {n, 2}, x)).In("K", I64({1}, {k})).Out("Values").Out("Indices").Set("axis", "0").Set("largest", largest ? "1" : "0");
  ASSERT_EQ(c.Run(onnx_topk), "");
  for (int64_t line : {0, 1}) {
    std::vector<int64_t> order(static_cast<size_t>(n)), got;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      const T a = x[static_cast<size_t>(2 * (largest ? j : i) + line)], b = x[static_cast<size_t>(2 * (largest ? i : j) + line)];
      return a < b || (b != b && a == a);
    });
    order.resize(static_cast<size_t>(k));
    const std::vector<int64_t> indices = c.outs[1].As<int64_t>();
    for (int64_t j = 0; j < k; ++j) got.push_back(indices[static_cast<size_t>(2 * j + line)]);
    ASSERT_EQ(got, order) << dtype << " n = " << n << " k = " << k;
    for (int64_t j = 0; j < k; ++j)
      EXPECT_EQ(0, std::memcmp(&x[static_cast<size_t>(2 * order[static_cast<size_t>(j)] + line)],
                               c.outs[0].bytes.data() + (2 * j + line) * static_cast<int64_t>(sizeof(T)), sizeof(T)));
  }
}

template <typename T>
std::vector<T> Many(std::vector<T> some) {  // every other one of the few, the rest of the type's whole range
  std::vector<T> all(65536);
  uint64_t state = 7;
  for (size_t i = 0; i < all.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t bits = state ^ state >> 29;
    std::memcpy(&all[i], &bits, sizeof(T));
    if (i % 2) all[i] = some[i / 2 % some.size()];
  }
  return all;
}

TEST(TopK, IsAStableSort) {
  const double inf = INFINITY;
  const auto all = [](int32_t dtype, const auto& values) {
    for (bool largest : {false, true})
      for (auto [n, k] : {std::pair<int64_t, int64_t>{100, 100}, {5000, 5000}, {5000, 600}, {5000, 17}, {3, 1}})
        ComparesWithAStableSort(dtype, values, n, k, largest);
  };
  all(HR_F64, Many<double>({0.0, -0.0, 1.5, -2.0, inf, -inf, NAN, -NAN, 5e-324}));
  all(HR_F32, Many<float>({0.0f, -0.0f, 1.5f, -2.0f, INFINITY, -INFINITY, NAN, -NAN}));
  all(HR_I64, Many<int64_t>({0, -1, INT64_MIN, INT64_MAX}));
  all(HR_U64, Many<uint64_t>({0, 1, UINT64_MAX}));
  all(HR_I32, Many<int32_t>({0, -1, INT32_MIN, INT32_MAX}));
  all(HR_U32, Many<uint32_t>({0, 1, UINT32_MAX}));
  all(HR_I8, Many<int8_t>({0, -128, 127}));
  all(HR_U8, Many<uint8_t>({0, 255}));
  for (bool largest : {false, true}) {  // many keys with one upper half, of one value and of several
    ComparesWithAStableSort(HR_F64, Many<double>({0.0, -0.0, 5e-324, 1e-323, NAN}), 40000, 40000, largest);
    ComparesWithAStableSort(HR_I64, Many<int64_t>({1, 2, 3, 1 << 20}), 40000, 40000, largest);
  }
  ComparesWithAStableSort(HR_F64, Many<double>({0.0}), 3 << 20, 1000, true);  // selected in several parts
}

TEST(TopK, IsNotSortedForNobody) {
  const int64_t n = 1 << 16;
  Caller c;
  c.In("X", F32({n}, std::vector<float>(static_cast<size_t>(n), 1))).In("K", I64({1}, {n})).Out("Values").Out("Indices");
  c.cancelled = true;
  EXPECT_EQ(c.Run(onnx_topk), "the run is cancelled");
}

TEST(TopK, RefusesMoreThanThereIs) {
  Caller c;
  c.In("X", F32({2}, {1, 2})).In("K", I64({1}, {3})).Out("Values").Out("Indices");
  EXPECT_EQ(c.Run(onnx_topk), "K is 3, but axis 0 has 2 elements");
  Caller none;
  none.In("X", F32({2, 0}, {})).In("K", I64({1}, {0})).Out("Values").Out("Indices");
  EXPECT_EQ(none.Run(onnx_topk), "");
  EXPECT_EQ(none.outs[0].shape, (Shape{2, 0}));
  Caller axis;
  axis.In("X", F32({2}, {1, 2})).In("K", I64({1}, {1})).Out("Values").Out("Indices").Set("axis", "1");
  EXPECT_EQ(axis.Run(onnx_topk), "axis 1 is out of range for rank 1");
}

TEST(NonZero, CountsNaNAndNotNegativeZero) {
  Caller c;
  c.In("X", F32({2, 2}, {-0.0f, NAN, 0, 2})).Out("Y");
  ASSERT_EQ(c.Run(onnx_nonzero), "");
  EXPECT_EQ(c.outs[0].shape, (Shape{2, 2}));
  EXPECT_EQ(c.outs[0].As<int64_t>(), (std::vector<int64_t>{0, 1, 1, 1}));
  Caller empty;
  empty.In("X", F32({0, 3}, {})).Out("Y");
  ASSERT_EQ(empty.Run(onnx_nonzero), "");
  EXPECT_EQ(empty.outs[0].shape, (Shape{2, 0}));
}

TEST(Compress, StringsAndTooLongConditions) {
  Caller c;
  c.In("input", Strings({3}, {"a", "b", "c"})).In("condition", Tensor<uint8_t>(HR_BOOL, {2}, {1, 1})).Out("output");
  ASSERT_EQ(c.Run(onnx_compress), "");
  EXPECT_EQ(c.outs[0].strings, (std::vector<std::string>{"a", "b"}));
  Caller bad;
  bad.In("input", F32({1}, {1})).In("condition", Tensor<uint8_t>(HR_BOOL, {2}, {1, 1})).Out("output");
  EXPECT_EQ(bad.Run(onnx_compress), "condition is longer than the input");
}

TEST(Unique, NaNIsOneValueAndEmptyIsEmpty) {
  Caller c;
  c.In("X", F32({4}, {NAN, 2, NAN, -1})).Out("Y").Out("counts");
  ASSERT_EQ(c.Run(onnx_unique), "");
  EXPECT_EQ(c.outs[0].shape, (Shape{3}));
  EXPECT_EQ(c.outs[1].As<int64_t>(), (std::vector<int64_t>{1, 1, 2}));
  Caller empty;
  empty.In("X", F32({0}, {})).Out("Y").Out("inverse_indices");
  ASSERT_EQ(empty.Run(onnx_unique), "");
  EXPECT_EQ(empty.outs[0].shape, (Shape{0}));
}

TEST(NonMaxSuppression, ChecksShapesAndLeavesNaNScoresOut) {
  Caller c;
  c.In("boxes", F32({1, 2, 4}, {0, 0, 1, 1, 5, 5, 6, 6})).In("scores", F32({1, 1, 2}, {NAN, 0.5f}));
  c.In("max_output_boxes_per_class", I64({1}, {9})).Out("selected_indices");
  ASSERT_EQ(c.Run(onnx_boxes), "");
  EXPECT_EQ(c.outs[0].As<int64_t>(), (std::vector<int64_t>{0, 0, 1}));
  Caller bad;
  bad.In("boxes", F32({1, 2, 4}, std::vector<float>(8)))
      .In("scores", F32({1, 1, 3}, {1, 2, 3}))
      .Out("selected_indices");
  EXPECT_EQ(bad.Run(onnx_boxes), "scores must have the shape [batches, classes, boxes]");
}

TEST(Det, PivotsAndHasEmptyProduct) {
  Caller c;
  c.In("X", F32({2, 2, 2}, {0, 1, 1, 0, 1, 2, 2, 4})).Out("Y");
  ASSERT_EQ(c.Run(onnx_det), "");
  EXPECT_EQ(c.outs[0].As<float>(), (std::vector<float>{-1, 0}));
  Caller empty;
  empty.In("X", F32({0, 0}, {})).Out("Y");
  ASSERT_EQ(empty.Run(onnx_det), "");
  EXPECT_EQ(empty.outs[0].As<float>(), (std::vector<float>{1}));
}

TEST(Strings, SplitAsPythonDoes) {
  Caller c;
  c.In("X", Strings({3}, {"  a  b ", "", "a b c"})).Out("Y").Out("Z").Set("maxsplit", "1");
  ASSERT_EQ(c.Run(onnx_string_split), "");
  EXPECT_EQ(c.outs[0].shape, (Shape{3, 2}));
  EXPECT_EQ(c.outs[0].strings, (std::vector<std::string>{"a", "b ", "", "", "a", "b c"}));
  EXPECT_EQ(c.outs[1].As<int64_t>(), (std::vector<int64_t>{2, 0, 2}));
}

TEST(Strings, CaseOfUnicode) {
  Caller c;
  c.In("X", Strings({3}, {"straße", "Δéjà", "\xff!"}))
      .Out("Y")
      .Set("case_change_action", "\"UPPER\"")
      .Set("stopwords", "[\"STRAßE\"]");
  ASSERT_EQ(c.Run(onnx_string_normalizer), "");
  EXPECT_EQ(c.outs[0].strings, (std::vector<std::string>{"ΔÉJÀ", "\xff!"}));
}

TEST(Strings, NumbersThatAreNone) {
  Caller c;
  c.In("input", Strings({1}, {"12x"})).Out("output").Set("element_type", std::to_string(HR_I64));
  EXPECT_EQ(c.Run(onnx_string_cast), "the string \"12x\" is no number");
}

TEST(Strings, PositionsOutsideAreRefused) {
  Caller c;
  c.In("positions", I64({2}, {0, 2})).In("strings", Strings({1}, {"a"})).Out("result");
  EXPECT_EQ(c.Run(onnx_string_pick), "a position is outside the strings");
}

TEST(Strings, RegularExpressionsTakeLinearTime) {
  Caller c;
  c.In("X", Strings({1}, {std::string(100000, 'a') + "b"})).Out("Y").Set("pattern", "\"(a*)*c\"");
  ASSERT_EQ(c.Run(onnx_regex_full_match), "");
  EXPECT_EQ(c.outs[0].As<uint8_t>(), (std::vector<uint8_t>{0}));
  Caller bad;
  bad.In("X", Strings({1}, {"a"})).Out("Y").Set("pattern", "\"(\"");
  EXPECT_NE(bad.Run(onnx_regex_full_match).find("the pattern is no RE2 regular expression"), std::string::npos);
}

TEST(Sequences, PositionsAreChecked) {
  Caller c;
  c.InSequence("input_sequence", {F32({1}, {1}), F32({2}, {2, 3})}).In("position", I64({}, {-1})).Out("tensor");
  ASSERT_EQ(c.Run(onnx_sequence_at), "");
  EXPECT_EQ(c.outs[0].As<float>(), (std::vector<float>{2, 3}));
  Caller bad;
  bad.InSequence("input_sequence", {F32({1}, {1})}).In("position", I64({}, {1})).Out("tensor");
  EXPECT_EQ(bad.Run(onnx_sequence_at), "position 1 is outside a sequence of 1");
}

TEST(Sequences, JoinedTensorsMustFit) {
  Caller c;
  c.InSequence("input_sequence", {F32({1, 2}, {1, 2}), F32({1, 3}, {1, 2, 3})}).Out("concat_result").Set("axis", "0");
  EXPECT_EQ(c.Run(onnx_concat_from_sequence), "the sequence's tensors have shapes [1, 2] and [1, 3]");
}

Caller OldTree(const std::string& yes) {
  Caller c;
  c.In("X", F32({1, 1}, {0}))
      .Out("Y")
      .Set("nodes_treeids", "[0, 0]")
      .Set("nodes_nodeids", "[0, 1]")
      .Set("nodes_featureids", "[0, 0]");
  c.Set("nodes_values", "[0.5, 0.0]")
      .Set("nodes_modes", "[\"BRANCH_LEQ\", \"LEAF\"]")
      .Set("nodes_falsenodeids", "[1, 0]");
  c.Set("nodes_truenodeids", yes)
      .Set("target_treeids", "[0]")
      .Set("target_nodeids", "[1]")
      .Set("target_ids", "[0]")
      .Set("target_weights", "[2.5]");
  return c;
}

TEST(Trees, DamagedOnesAreErrors) {
  Caller good = OldTree("[1, 0]");
  ASSERT_EQ(good.Run(onnx_tree_regressor), "");
  EXPECT_EQ(good.outs[0].As<float>(), (std::vector<float>{2.5}));
  EXPECT_EQ(OldTree("[0, 0]").Run(onnx_tree_regressor), "a tree has a cycle");
  EXPECT_EQ(OldTree("[7, 0]").Run(onnx_tree_regressor), "a tree refers to a node that is not there");
  EXPECT_EQ(OldTree("[1]").Run(onnx_tree_regressor), "the attributes of nodes differ in length");
  Caller damaged;
  damaged.In("X", F32({1, 1}, {0})).Out("Y").Set("tree_roots", "[3]");
  EXPECT_EQ(damaged.Run(onnx_tree_ensemble), "a tree refers to a node that is not there");
}

TEST(Ngrams, PoolsThatDoNotFit) {
  Caller c;
  c.In("X", I64({2}, {1, 2}))
      .Out("Y")
      .Set("ngram_counts", "[0, 9]")
      .Set("ngram_indexes", "[0]")
      .Set("pool_int64s", "[1]");
  EXPECT_EQ(c.Run(onnx_ngrams), "ngram_counts does not fit the pool");
}

}  // namespace
