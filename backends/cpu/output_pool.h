// Memory of outputs: what a caller lets go of serves the next run, whose pages are there already. (A fresh page costs more
// than filling it: at 16 MiB most of an elementwise operator's time.)
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "ir/base/value.h"

namespace headrace::cpu {

class OutputPool {
 public:
  OutputPool() : state_(std::make_shared<State>()) {}
  ~OutputPool();
  OutputPool(const OutputPool&) = delete;
  OutputPool& operator=(const OutputPool&) = delete;

  // Memory for an output, 64-byte aligned and not zeroed; null when there is none. It may outlive the pool.
  std::shared_ptr<Buffer> Take(int64_t bytes);
  // A run is over that took `bytes`: what is kept between runs is at most twice what one run needed (its results may still
  // be held while the next one is made).
  void EndRun(int64_t bytes);

 private:
  struct State {
    std::mutex mutex;
    std::multimap<int64_t, void*> free;  // by size
    int64_t kept = 0, most = 0;
    bool closed = false;
  };
  static void Give(State& s, void* memory, int64_t bytes);
  std::shared_ptr<State> state_;
};

}  // namespace headrace::cpu
