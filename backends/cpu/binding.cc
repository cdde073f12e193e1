#include "backends/cpu/binding.h"

#include <unordered_map>

#include "backends/common/signature.h"

namespace headrace::cpu {

bool Binder::Form::Fits(const std::vector<std::pair<Name, Value>>& arguments,
                        const std::vector<std::pair<Name, int64_t>>& given) const {
  if (arguments.size() != names.size() || given != symbols) return false;
  for (size_t i = 0; i < names.size(); ++i) {
    const Value& v = arguments[i].second;
    if (arguments[i].first != names[i] || v.kind != Value::kTensor || v.tensor.dtype != types[i] ||
        v.tensor.shape != shapes[i])
      return false;
  }
  return true;
}

Result<std::shared_ptr<const Binding>> Binder::Bind(const std::vector<std::pair<Name, Value>>& arguments,
                                                    const std::vector<std::pair<Name, int64_t>>& symbols) {
  std::shared_ptr<const Form> last;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    last = last_;
  }
  if (last && last->Fits(arguments, symbols)) return std::shared_ptr<const Binding>(last, &last->binding);

  HR_ASSIGN_OR_RETURN(BoundArguments bound, BindArguments(*program_, program_->Entry(), arguments, symbols));
  auto form = std::make_shared<Form>();
  std::unordered_map<const Value*, int> position;
  for (size_t i = 0; i < arguments.size(); ++i) position.emplace(&arguments[i].second, static_cast<int>(i));
  for (const Value* v : bound.values) {
    const auto at = position.find(v);
    form->binding.argument.push_back(at == position.end() ? -1 : at->second);
  }
  for (Name n : wanted_) {
    const auto v = bound.Find(n);
    if (!v) return InvalidError("E0676",
                                "the size '" + n.str() + "' is not determined by the arguments", "give it by name");
    form->binding.symbols.push_back(*v);
  }
  bool tensors = true;
  for (const auto& [name, v] : arguments) {
    tensors &= v.kind == Value::kTensor;
    form->names.push_back(name);
    form->types.push_back(v.tensor.dtype);
    form->shapes.push_back(v.tensor.shape);
  }
  form->symbols = symbols;
  if (tensors) {
    std::lock_guard<std::mutex> lock(mutex_);
    last_ = form;
  }
  return std::shared_ptr<const Binding>(form, &form->binding);
}

}  // namespace headrace::cpu
