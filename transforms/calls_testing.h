// A registry with a function of a library of kernels, for tests of what passes do with its calls.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "transforms/passes.h"

namespace headrace::transforms {

// `product(A, B) -> Y`: wants A by columns, takes most steps as epilogue, no "tanh" and "sigmoid", needs 64 bytes for each row of A,
// and its result may lie over e0. `refuser`: refuses layouts; `shrinker`: its scratch is no size.
inline const Registry& RegistryWithCalls() {
  static const Registry* r = [] {
    auto* reg = new Registry;
    EXPECT_TRUE(RegisterAll(*reg).ok());
    ExternalFunction f;
    f.name = f.symbol = "product";
    f.scratch = [](void*, const hr_node* n, const hr_writer* bytes, const hr_writer*) -> int32_t {
      return bytes->put(bytes->ctx, (std::string("64 * ") + n->inputs[0].shape[0]).c_str()), 0;
    };
    f.layout = [](void*, const hr_node*, int32_t port, int32_t* order, const hr_writer*) -> int32_t {
      return order[0] = 1, order[1] = 0, port == 0;
    };
    f.epilogue = [](void*, const hr_node* n, const hr_writer* error) -> int32_t {
      const std::string op = n->steps[n->n_steps - 1].op;
      if (op == "bias" || op == "relu" || op == "add" || op == "clip" || op == "linear" || op == "leaky") return 0;
      return error->put(error->ctx, ("no " + op).c_str()), 1;
    };
    f.in_place = {{"Y", "e0"}};
    EXPECT_TRUE(reg->Add(f).ok());
    ExternalFunction refuser;
    refuser.name = refuser.symbol = "refuser";
    refuser.layout = [](void*, const hr_node*, int32_t, int32_t*, const hr_writer* error) -> int32_t {
      return error->put(error->ctx, "it has no lead"), -1;
    };
    EXPECT_TRUE(reg->Add(refuser).ok());
    ExternalFunction shrinker;
    shrinker.name = shrinker.symbol = "shrinker";
    shrinker.scratch = [](void*, const hr_node*, const hr_writer* bytes, const hr_writer*) -> int32_t {
      return bytes->put(bytes->ctx, "Q - 1"), 0;
    };
    EXPECT_TRUE(reg->Add(shrinker).ok());
    return reg;
  }();
  return *r;
}

}  // namespace headrace::transforms
