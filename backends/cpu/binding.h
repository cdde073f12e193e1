// Arguments bound to parameters, remembered: a loop that runs a program again and again with arguments of the same names,
// types and shapes (training, serving) pays for matching them once.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::cpu {

struct Binding {
  std::vector<int> argument;     // by parameter: position among the arguments, -1 = none
  std::vector<int64_t> symbols;  // in the order asked for
};

class Binder {
 public:
  // `symbols`: names of the sizes that runs need, in their order.
  Binder(const Program* program, std::vector<std::string> symbols)
      : program_(program), wanted_(symbols.begin(), symbols.end()) {}
  // Errors as BindArguments'.
  Result<std::shared_ptr<const Binding>> Bind(const std::vector<std::pair<Name, Value>>& arguments,
                                              const std::vector<std::pair<Name, int64_t>>& symbols);

 private:
  struct Form {  // of arguments that were bound
    std::vector<Name> names;
    std::vector<DType> types;
    std::vector<std::vector<int64_t>> shapes;
    std::vector<std::pair<Name, int64_t>> symbols;
    Binding binding;
    bool Fits(const std::vector<std::pair<Name, Value>>& arguments,
              const std::vector<std::pair<Name, int64_t>>& given) const;
  };
  const Program* program_;
  std::vector<Name> wanted_;
  std::mutex mutex_;
  std::shared_ptr<const Form> last_;
};

}  // namespace headrace::cpu
