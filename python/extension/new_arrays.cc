// Arrays for results: NumPy's and PyTorch's own, not zeroed.
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "python/extension/array_types.h"
#include "python/extension/arrays.h"

namespace headrace::python {
namespace {

// What of NumPy a call needs, looked up once. It is never let go of: modules may be gone when statics are.
struct Numpy {
  PyObject *module, *empty, *ndarray;
  std::array<PyObject*, 64> dtypes = {};
  static Numpy& Get() {
    static Numpy* numpy = [] {
      auto* n = new Numpy;
      n->module = nb::module_::import_("numpy").release().ptr();
      n->empty = nb::object(nb::handle(n->module).attr("empty")).release().ptr();
      n->ndarray = nb::object(nb::handle(n->module).attr("ndarray")).release().ptr();
      return n;
    }();
    return *numpy;
  }
  static const char* NameOf(DType t) {
    switch (t) {
      case DType::kBool: return "bool";
      case DType::kI8: return "int8";
      case DType::kI16: return "int16";
      case DType::kI32: return "int32";
      case DType::kI64: return "int64";
      case DType::kU8: return "uint8";
      case DType::kU16: return "uint16";
      case DType::kU32: return "uint32";
      case DType::kU64: return "uint64";
      case DType::kF16: return "float16";
      case DType::kF32: return "float32";
      case DType::kF64: return "float64";
      case DType::kC64: return "complex64";
      case DType::kC128: return "complex128";
      default: {
        const SmallFloat* s = FindSmallFloat(t);
        return s ? s->storage : "object";
      }
    }
  }
  PyObject* Dtype(DType t) {
    PyObject*& d = dtypes[static_cast<size_t>(t)];
    if (!d) d = nb::object(nb::handle(module).attr("dtype")(NameOf(t))).release().ptr();
    return d;
  }
};

nb::object DenseStrides(int32_t rank, const int64_t* shape) {
  PyObject* t = PyTuple_New(rank);
  int64_t step = 1;
  for (int32_t d = rank - 1; d >= 0; --d) {
    NB_TUPLE_SET_ITEM(t, d, PyLong_FromLongLong(step));
    step *= shape[d] > 1 ? shape[d] : 1;
  }
  return nb::steal(t);
}

struct Torch {
  nb::object module, empty, keyword, written;
  nb::object fast;  // what torch's own compiled programs allocate by: half of torch.empty's time; absent in some versions
  std::array<PyObject*, 64> dtypes = {};
  static Torch& Get() {
    static Torch* torch = [] {
      auto* t = new Torch;
      t->module = nb::module_::import_("torch");
      t->empty = t->module.attr("empty");
      t->keyword = nb::make_tuple("dtype");
      t->written = t->module.attr("autograd").attr("graph").attr("increment_version");
      nb::object owner = t->module;
      for (const char* name : {"_C", "_dynamo", "guards", "_empty_strided_cpu"}) owner = nb::getattr(owner, name, nb::none());
      if (!owner.is_none()) t->fast = owner;
      return t;
    }();
    return *torch;
  }
  static const char* NameOf(DType t) {
    if (t == DType::kBF16) return "bfloat16";
    if (t >= DType::kF8E4M3FN && t <= DType::kF8E8M0) return FindSmallFloat(t)->name;
    return Numpy::NameOf(t);
  }
  PyObject* Dtype(DType t) {
    PyObject*& d = dtypes[static_cast<size_t>(t)];
    if (!d) d = nb::object(module.attr(NameOf(t))).release().ptr();
    return d;
  }
  nb::object Empty(int32_t rank, const int64_t* shape, DType t) {
    const nb::object size = ShapeTuple(rank, shape);
    PyObject* made = nullptr;
    if (fast) {
      const nb::object strides = DenseStrides(rank, shape);
      PyObject* args[] = {size.ptr(), strides.ptr(), Dtype(t)};
      made = PyObject_Vectorcall(fast.ptr(), args, 3, nullptr);
    } else {
      PyObject* args[] = {size.ptr(), Dtype(t)};
      made = PyObject_Vectorcall(empty.ptr(), args, 1, keyword.ptr());
    }
    if (!made) throw nb::python_error();
    return nb::steal(made);
  }
};

// NumPy's own name for what NumPy lacks: a view of its bits as ml_dtypes' type, where that package is there.
nb::object AsSmallFloats(nb::object array, DType t) {
  const SmallFloat* s = FindSmallFloat(t);
  if (!s) return array;
  try {
    return array.attr("view")(nb::module_::import_("ml_dtypes").attr(s->name));
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_ImportError) && !e.matches(PyExc_AttributeError)) throw;
    return array;
  }
}

}  // namespace

ArrayKind KindOf(nb::handle object) {
  static std::array<std::pair<PyTypeObject*, ArrayKind>, 4> known = {};  // guarded by the GIL
  PyTypeObject* type = Py_TYPE(object.ptr());
  if (type == reinterpret_cast<PyTypeObject*>(Numpy::Get().ndarray)) return ArrayKind::kNumpy;
  for (const auto& [t, kind] : known)
    if (t == type) return kind;
  bool torch = false;
  for (nb::handle base : nb::tuple(object.type().attr("__mro__"))) {
    const auto text = [&](const char* attribute) { return std::string(nb::str(nb::getattr(base, attribute, nb::str(""))).c_str()); };
    torch = torch || (text("__name__") == "Tensor" && text("__module__") == "torch");
  }
  const ArrayKind kind = torch ? ArrayKind::kTorch : ArrayKind::kNumpy;
  for (auto& slot : known)
    if (!slot.first) {
      Py_INCREF(reinterpret_cast<PyObject*>(type));  // its address must stay its own
      slot = {type, kind};
      break;
    }
  return kind;
}

void MarkWritten(nb::handle array) {
  if (KindOf(array) != ArrayKind::kTorch || nb::cast<bool>(array.attr("is_inference")())) return;
  Torch::Get().written(array);
}

nb::object NewArray(ArrayKind kind, DType dtype, int32_t rank, const int64_t* shape, void** memory) {
  if (kind == ArrayKind::kTorch) {
    nb::object t = Torch::Get().Empty(rank, shape, dtype);
    nb::dlpack::dltensor d;
    if (const auto describe = DescriberOf(t); describe && describe(t.ptr(), &d) == 0) {
      *memory = d.data;
    } else {
      PyErr_Clear();
      *memory = reinterpret_cast<void*>(nb::cast<uintptr_t>(t.attr("data_ptr")()));
    }
    static char nothing[64];  // an empty tensor's pointer is null, and null means "no memory"
    if (!*memory) *memory = nothing;
    return t;
  }
  Numpy& numpy = Numpy::Get();
  const nb::object size = ShapeTuple(rank, shape);
  PyObject* args[] = {size.ptr(), numpy.Dtype(dtype)};
  PyObject* made = PyObject_Vectorcall(numpy.empty, args, 2, nullptr);
  if (!made) throw nb::python_error();
  Py_buffer b;
  if (PyObject_GetBuffer(made, &b, PyBUF_SIMPLE | PyBUF_WRITABLE) != 0) {
    Py_DECREF(made);
    throw nb::python_error();
  }
  *memory = b.buf;
  PyBuffer_Release(&b);  // the array, which the caller holds, keeps its memory
  return AsSmallFloats(nb::steal(made), dtype);
}

}  // namespace headrace::python
