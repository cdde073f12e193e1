// headrace_loader.h for C++11 and later: a model, tensors that are given to it and results that own their memory.
#pragma once
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/headrace_loader.h"

namespace headrace {

template <typename T>
struct ElementType;
#define HEADRACE_ELEMENT(type, code) \
  template <>                        \
  struct ElementType<type> {         \
    static constexpr int32_t value = code; \
  };
HEADRACE_ELEMENT(bool, HR_BOOL)
HEADRACE_ELEMENT(uint8_t, HR_U8)
HEADRACE_ELEMENT(int8_t, HR_I8)
HEADRACE_ELEMENT(uint16_t, HR_U16)
HEADRACE_ELEMENT(int16_t, HR_I16)
HEADRACE_ELEMENT(uint32_t, HR_U32)
HEADRACE_ELEMENT(int32_t, HR_I32)
HEADRACE_ELEMENT(uint64_t, HR_U64)
HEADRACE_ELEMENT(int64_t, HR_I64)
HEADRACE_ELEMENT(float, HR_F32)
HEADRACE_ELEMENT(double, HR_F64)
#undef HEADRACE_ELEMENT

using Shape = std::vector<int64_t>;

// Elements of the caller's, dense and row-major, which must live until the run is over.
struct Input {
  std::string name;
  int32_t dtype;
  Shape shape;
  const void* data;
  template <typename T>
  Input(std::string n, Shape s, const T* elements)
      : name(std::move(n)), dtype(ElementType<T>::value), shape(std::move(s)), data(elements) {}
};

class Model {
  struct Close {
    void operator()(headrace_model* m) const { headrace_close(m); }
  };
  struct Free {
    std::shared_ptr<headrace_model> model;
    void operator()(headrace_result* r) const { headrace_free(model.get(), r); }
  };

 public:
  // Of one run; keeps the model loaded.
  class Results {
   public:
    const hr_value& operator[](const std::string& name) const {
      const int32_t at = headrace_find(model_.get(), HR_OUT, name.c_str());
      if (at < 0) throw std::invalid_argument("the program has no output '" + name + "'");
      return result_->outputs[at];
    }
    const hr_value& operator[](size_t at) const { return result_->outputs[at]; }
    size_t size() const { return static_cast<size_t>(result_->n_outputs); }
    template <typename T>
    const T* data(const std::string& name) const {
      const hr_value& v = (*this)[name];
      if (v.dtype != ElementType<T>::value) throw std::invalid_argument("output '" + name + "' has other elements");
      return static_cast<const T*>(v.data);
    }
    Shape shape(const std::string& name) const {
      const hr_value& v = (*this)[name];
      return Shape(v.shape, v.shape + v.rank);
    }

   private:
    friend class Model;
    std::shared_ptr<headrace_model> model_;
    std::shared_ptr<headrace_result> result_;
  };

  explicit Model(const std::string& folder, bool verify = true) {
    char error[1024] = "";
    headrace_model* m =
        headrace_open(folder.c_str(), verify ? HEADRACE_VERIFY : HEADRACE_NO_VERIFY, error, sizeof error);
    if (!m) throw std::runtime_error(error);
    model_ = std::shared_ptr<headrace_model>(m, Close());
  }
  // By name; optional inputs may be left out. Sizes that no input's shape tells are given by `sizes`. From any thread.
  Results Run(const std::vector<Input>& inputs, const std::vector<std::pair<std::string, int64_t>>& sizes = {},
              int32_t threads = 0) const {
    std::vector<hr_value> values(static_cast<size_t>(headrace_count(model_.get(), HR_IN)), hr_value());
    for (const Input& i : inputs) {
      const int32_t at = headrace_find(model_.get(), HR_IN, i.name.c_str());
      if (at < 0) throw std::invalid_argument("the program has no input '" + i.name + "'");
      values[static_cast<size_t>(at)] =
          headrace_tensor(i.dtype, static_cast<int32_t>(i.shape.size()), i.shape.data(), i.data);
    }
    std::vector<headrace_size> given;
    for (const auto& s : sizes) given.push_back(headrace_size{s.first.c_str(), s.second});
    const headrace_call call = {sizeof(headrace_call), values.data(), static_cast<int32_t>(values.size()),
                                static_cast<int32_t>(given.size()), given.data(), threads};
    char error[1024] = "";
    headrace_result* result = model_->api->run(model_->program, &call, error, sizeof error);
    if (!result) throw std::runtime_error(error);
    Results out;
    out.model_ = model_;
    out.result_ = std::shared_ptr<headrace_result>(result, Free{model_});
    return out;
  }
  const headrace_program_info_t& info() const { return *model_->info; }

 private:
  std::shared_ptr<headrace_model> model_;
};

}  // namespace headrace
