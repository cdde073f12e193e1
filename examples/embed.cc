// Compiles a model and runs it: embed MODEL, a model of one f32 matrix X with two columns. docs/deploy.md says how it is built.
#include <headrace/compile.h>

#include <iostream>

int main(int argc, char** argv) {
  using namespace headrace;
  const auto fail = [](const Status& s) {
    std::cerr << s.ToString() << "\n";
    return 1;
  };
  Registry registry;
  if (const Status s = LoadPlugins(registry); !s.ok()) return fail(s);
  const Result<LoadedModel> loaded = LoadModel(registry, argc > 1 ? argv[1] : "model.onnx");
  if (!loaded.ok()) return fail(loaded.status());
  CompileRequest request;
  request.backend = argc > 2 ? argv[2] : "cpu";
  const auto compiled = CompileProgram(registry, loaded->model.program, request);
  if (!compiled.ok()) return fail(compiled.status());

  const float x[] = {-1, 2, -3, 4};
  const int64_t shape[] = {2, 2};
  const hr_array input = {const_cast<float*>(x), shape, nullptr, HR_F32, 2, HR_DEVICE_CPU, 0, HR_LAYOUT_STRIDED, HR_ARRAY_READ_ONLY};
  hr_array output = {};  // without memory: the allocator gives it, once the sizes are known
  output.device_type = HR_DEVICE_CPU;
  std::vector<float> y;
  CallFrame frame;
  frame.inputs = &input, frame.n_inputs = 1;
  frame.outputs = &output, frame.n_outputs = 1;
  frame.context = &y;
  frame.allocate = [](void* context, int32_t, int32_t, int32_t rank, const int64_t* sizes) -> void* {
    size_t elements = 1;
    for (int32_t d = 0; d < rank; ++d) elements *= static_cast<size_t>(sizes[d]);
    auto* values = static_cast<std::vector<float>*>(context);
    values->resize(elements);
    return values->data();
  };
  if (const Status s = (*compiled)->Call(frame); !s.ok()) return fail(s);
  for (float v : y) std::cout << v << " ";
}
