// .npz archives as the command reads and writes them. FILE.npz:ARRAY names one array; without it the archive holds one array,
// or one that is called like what it is for.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "ir/base/value.h"
#include "training/data.h"

namespace headrace {

struct ArrayPlace {
  std::string path, array;  // array: "" = not named, or a .npy file
  bool archive = false;
};
ArrayPlace ParsePlace(const std::string& text);  // "f.npy", "f.npz", "f.npz:x"

// Reads each archive once.
class ArrayFiles {
 public:
  Result<Tensor> Read(const std::string& place, const std::string& name);

 private:
  std::map<std::string, training::NamedTensors> archives_;
};

// Stored, not compressed; there whole or not at all.
Status WriteNpz(const std::string& path, const training::NamedTensors& arrays);

}  // namespace headrace
