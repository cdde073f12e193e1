// Nothing is read beyond an input that ends where the process's memory does, and results are those of an input with room behind it, also
// of runs at the same time.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "plugins/xnnpack/kernels.h"

namespace headrace_xnnpack {
namespace {

std::map<std::string, hr_external>& Functions() {
  static std::map<std::string, hr_external> all;
  return all;
}
// The functions that the plugin registers.
void Register() {
  if (!Functions().empty()) return;
  hr_host host{};
  host.struct_size = sizeof host;
  host.add_implementation = [](void*, const hr_implementation*) { return 0; };
  host.add_external = [](void*, const hr_external* e) {
    Functions()[e->name] = *e;
    return 0;
  };
  headrace_plugin::Registrar r(&host);
  RegisterConvolution(r), RegisterProducts(r), RegisterPooling(r), RegisterRows(r);
}

// `count` numbers, of which nothing that follows may be read; or, with `room`, any.
class Numbers {
 public:
  Numbers(size_t count, bool room) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), bytes = count * sizeof(float);
    size_ = (bytes + page - 1) / page * page + page;
    memory_ = static_cast<char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (!room) mprotect(memory_ + size_ - page, page, PROT_NONE);
    data = reinterpret_cast<float*>(room ? memory_ : memory_ + size_ - page - bytes);
    for (size_t i = 0; i < count; ++i) data[i] = static_cast<float>((i * 37 + 11) % 101) / 50 - 1;
  }
  ~Numbers() { munmap(memory_, size_); }
  Numbers(const Numbers&) = delete;
  float* data;

 private:
  char* memory_;
  size_t size_;
};

struct Port {
  std::vector<int64_t> shape;
  bool constant = false, last = false;  // channels last
  size_t count() const { return static_cast<size_t>(Product(shape)); }
};
std::vector<std::string> Texts(const std::vector<int64_t>& numbers) {
  std::vector<std::string> out;
  for (const int64_t n : numbers) out.push_back(std::to_string(n));
  return out;
}
std::vector<const char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> out;
  for (const std::string& t : texts) out.push_back(t.c_str());
  return out;
}

// The result of a call, whose inputs are X or A, W or B.
std::vector<float> ResultOf(const std::string& name, hr_function function,
                            const std::vector<std::pair<std::string, std::string>>& attributes,
                            const std::vector<std::pair<std::string, Port>>& inputs, const Port& output, bool room) {
  std::vector<std::unique_ptr<Numbers>> data;
  std::vector<hr_value> values;
  for (const auto& [port, p] : inputs) {
    data.push_back(std::make_unique<Numbers>(p.count(), room));
    values.push_back({HR_TENSOR, HR_F32, static_cast<int32_t>(p.shape.size()), 0, p.shape.data(), data.back()->data, 0, nullptr});
  }
  std::vector<std::vector<std::string>> texts;
  std::vector<std::vector<const char*>> tables;
  const auto table = [&](const std::vector<int64_t>& numbers) {
    texts.push_back(Texts(numbers));
    tables.push_back(Pointers(texts.back()));
    return tables.back().data();
  };
  texts.reserve(20), tables.reserve(20);
  std::vector<hr_port> ports;
  std::vector<const char* const*> strides;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& p = inputs[i].second;
    const int32_t rank = static_cast<int32_t>(p.shape.size());
    ports.push_back({inputs[i].first.c_str(), 1, HR_F32, rank, table(p.shape), p.constant ? &values[i] : nullptr});
    strides.push_back(p.last ? table(ChannelsLast(p.shape)) : nullptr);
  }
  const hr_port y{"Y", 1, HR_F32, static_cast<int32_t>(output.shape.size()), table(output.shape), nullptr};
  const char* const* y_strides = output.last ? table(ChannelsLast(output.shape)) : nullptr;
  std::vector<hr_attribute> list;
  for (const auto& [key, text] : attributes) list.push_back({key.c_str(), text.c_str(), nullptr});
  hr_node node{};
  node.struct_size = sizeof node;
  node.n_inputs = static_cast<int32_t>(ports.size()), node.n_outputs = 1, node.n_attributes = static_cast<int32_t>(list.size());
  node.inputs = ports.data(), node.outputs = &y, node.attributes = list.data();
  node.input_strides = strides.data(), node.output_strides = &y_strides;

  std::string error;
  const hr_writer writer{&error, [](void* to, const char* text) { *static_cast<std::string*>(to) += text; }};
  const hr_external& e = Functions().at(name);
  void* state = nullptr;
  EXPECT_EQ(e.prepare(e.user, &node, &state, &writer), 0) << error;
  if (!state) return {};
  // Runs at the same time, which share the state.
  std::vector<std::vector<float>> results(4, std::vector<float>(output.count(), 12345));
  std::vector<std::thread> runs;
  for (std::vector<float>& result : results)
    runs.emplace_back([&] {
      hr_value out{HR_TENSOR, HR_F32, static_cast<int32_t>(output.shape.size()), 0, output.shape.data(), result.data(), 0, nullptr};
      hr_call call{};
      call.struct_size = sizeof call;
      call.n_inputs = node.n_inputs, call.n_outputs = 1, call.inputs = values.data(), call.outputs = &out, call.state = state;
      EXPECT_EQ(function(&call), 0);
    });
  for (std::thread& run : runs) run.join();
  for (const std::vector<float>& result : results) EXPECT_EQ(result, results[0]);
  e.release(e.user, state);
  return results[0];
}

}  // namespace

extern "C" int32_t xnnpack_conv(hr_call*);
extern "C" int32_t xnnpack_product(hr_call*);
extern "C" int32_t xnnpack_batched_product(hr_call*);
extern "C" int32_t xnnpack_pool(hr_call*);
extern "C" int32_t xnnpack_mean(hr_call*);
extern "C" int32_t xnnpack_softmax(hr_call*);

namespace {

TEST(Edges, NothingBeyondIsRead) {
  Register();
  const auto same = [](const std::string& name, hr_function f, const std::vector<std::pair<std::string, std::string>>& attributes,
                       const std::vector<std::pair<std::string, Port>>& inputs, const Port& output) {
    SCOPED_TRACE(name);
    const std::vector<float> at_edge = ResultOf(name, f, attributes, inputs, output, false);
    EXPECT_EQ(at_edge, ResultOf(name, f, attributes, inputs, output, true));
  };
  const auto image = [](std::vector<int64_t> shape) { return Port{std::move(shape), false, true}; };
  const auto weights = [](std::vector<int64_t> shape) { return Port{std::move(shape), true, false}; };
  for (const int64_t channels : {1, 3, 5, 8, 21}) {
    const Port x = image({2, channels, 9, 8});
    same("xnnpack_conv", xnnpack_conv, {{"pads", "[1, 1, 1, 1]"}}, {{"X", x}, {"W", weights({6, channels, 3, 3})}}, image({2, 6, 9, 8}));
    same("xnnpack_conv", xnnpack_conv, {}, {{"X", x}, {"W", weights({6, channels, 1, 1})}}, image({2, 6, 9, 8}));
    same("xnnpack_conv", xnnpack_conv, {{"group", std::to_string(channels)}}, {{"X", x}, {"W", weights({channels, 1, 3, 3})}},
         image({2, channels, 7, 6}));
    same("xnnpack_conv", xnnpack_conv, {{"group", std::to_string(channels)}}, {{"X", x}, {"W", weights({channels, 1, 1, 1})}},
         image({2, channels, 9, 8}));
    same("xnnpack_pool", xnnpack_pool, {{"kind", "\"max\""}, {"kernel_shape", "[3, 3]"}}, {{"X", x}}, image({2, channels, 7, 6}));
    same("xnnpack_pool", xnnpack_pool, {{"kind", "\"average\""}, {"kernel_shape", "[3, 3]"}}, {{"X", x}}, image({2, channels, 7, 6}));
    same("xnnpack_mean", xnnpack_mean, {}, {{"X", x}}, image({2, channels, 1, 1}));
    const Port rows{{13, channels}, false, false};
    same("xnnpack_softmax", xnnpack_softmax, {}, {{"input", rows}}, rows);
    same("xnnpack_product", xnnpack_product, {}, {{"A", rows}, {"B", weights({channels, 9})}}, Port{{13, 9}, false, false});
    same("xnnpack_batched_product", xnnpack_batched_product, {}, {{"A", rows}, {"B", Port{{channels, 9}, false, false}}},
         Port{{13, 9}, false, false});
  }
}

TEST(Edges, MemoryGoesOnToTheEndOfThePage) {
  char* const page = reinterpret_cast<char*>(uintptr_t{4096} * 1000);
  EXPECT_TRUE(ReadableBeyond(page + 1, page + 1));
  EXPECT_TRUE(ReadableBeyond(page + 4096 - 16, page + 4096 - 16));
  EXPECT_FALSE(ReadableBeyond(page + 4096 - 15, page + 4096 - 15));
  EXPECT_FALSE(ReadableBeyond(page + 4096, page + 4096));
  EXPECT_TRUE(ReadableBeyond(page + 4096, page + 4096 + 16));
  EXPECT_FALSE(ReadableBeyond(page + 4096, page + 4096 + 15));
}

}  // namespace
}  // namespace headrace_xnnpack
