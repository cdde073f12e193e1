#include "python/extension/arrays.h"

#include <nanobind/stl/string.h>

#include <cstring>

namespace headrace::python {
namespace {

// Of the struct module's native formats.
DType FromFormat(const char* f, Py_ssize_t item) {
  if (!f) return DType::kU8;
  if (*f == '@' || *f == '=' || *f == '<') ++f;
  if (f[0] == 'Z') return f[1] == 'f' ? DType::kC64 : f[1] == 'd' ? DType::kC128 : DType::kNone;
  if (f[0] == 0 || f[1] != 0) return DType::kNone;
  switch (f[0]) {
    case '?': return DType::kBool;
    case 'e': return DType::kF16;
    case 'f': return DType::kF32;
    case 'd': return DType::kF64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return item == 1 ? DType::kI8 : item == 2 ? DType::kI16 : item == 4 ? DType::kI32 : DType::kI64;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return item == 1 ? DType::kU8 : item == 2 ? DType::kU16 : item == 4 ? DType::kU32 : DType::kU64;
    default: return DType::kNone;
  }
}

DType FromDlpack(nb::dlpack::dtype t) {
  if (t.lanes != 1) return DType::kNone;
  switch (t.code) {
    case 0: return t.bits == 8 ? DType::kI8 : t.bits == 16 ? DType::kI16 : t.bits == 32 ? DType::kI32 : DType::kI64;
    case 1: return t.bits == 8 ? DType::kU8 : t.bits == 16 ? DType::kU16 : t.bits == 32 ? DType::kU32 : DType::kU64;
    case 2: return t.bits == 16 ? DType::kF16 : t.bits == 32 ? DType::kF32 : t.bits == 64 ? DType::kF64 : DType::kNone;
    case 4: return DType::kBF16;
    case 5: return t.bits == 64 ? DType::kC64 : t.bits == 128 ? DType::kC128 : DType::kNone;
    case 6: return DType::kBool;
    case 10: return DType::kF8E4M3FN;
    case 11: return DType::kF8E4M3FNUZ;
    case 12: return DType::kF8E5M2;
    case 13: return DType::kF8E5M2FNUZ;
    case 14: return DType::kF8E8M0;
    default: return DType::kNone;
  }
}

struct SmallFloat {
  DType dtype;
  const char *name, *storage;  // of ml_dtypes, of NumPy
};
constexpr SmallFloat kSmallFloats[] = {
    {DType::kBF16, "bfloat16", "uint16"},
    {DType::kF8E4M3FN, "float8_e4m3fn", "uint8"},
    {DType::kF8E4M3FNUZ, "float8_e4m3fnuz", "uint8"},
    {DType::kF8E5M2, "float8_e5m2", "uint8"},
    {DType::kF8E5M2FNUZ, "float8_e5m2fnuz", "uint8"},
    {DType::kF8E8M0, "float8_e8m0fnu", "uint8"},
    {DType::kF4E2M1, "float4_e2m1fn", "uint8"},
    {DType::kI4, "int4", "int8"},
    {DType::kU4, "uint4", "uint8"},
    {DType::kI2, "int2", "int8"},
    {DType::kU2, "uint2", "uint8"},
};
const SmallFloat* FindSmallFloat(DType t) {
  for (const SmallFloat& s : kSmallFloats)
    if (s.dtype == t) return &s;
  return nullptr;
}

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

nb::object ShapeTuple(int32_t rank, const int64_t* shape) {
  PyObject* t = PyTuple_New(rank);
  for (int32_t d = 0; d < rank; ++d) NB_TUPLE_SET_ITEM(t, d, PyLong_FromLongLong(shape[d]));
  return nb::steal(t);
}

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
  nb::object module, empty, keyword;
  nb::object fast;  // what torch's own compiled programs allocate by: half of torch.empty's time; absent in some versions
  std::array<PyObject*, 64> dtypes = {};
  static Torch& Get() {
    static Torch* torch = [] {
      auto* t = new Torch;
      t->module = nb::module_::import_("torch");
      t->empty = t->module.attr("empty");
      t->keyword = nb::make_tuple("dtype");
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

// DLPack 1.2's DLPackExchangeAPI.
struct ExchangeTable {
  uint32_t major, minor;
  ExchangeTable* previous;
  void *allocate, *to_managed, *from_managed;
  int (*describe)(void* object, nb::dlpack::dltensor* out);
};

// What describes objects of this type without a call of Python; null where the type has no such table. Types are remembered: the
// two that a program meets are torch's Tensor and Parameter.
decltype(ExchangeTable::describe) DescriberOf(nb::handle object) {
  static std::array<std::pair<PyTypeObject*, decltype(ExchangeTable::describe)>, 4> known = {};  // guarded by the GIL
  PyTypeObject* type = Py_TYPE(object.ptr());
  for (const auto& [t, describe] : known)
    if (t == type) return describe;
  PyObject* capsule = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
  auto* table = capsule ? static_cast<ExchangeTable*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api")) : nullptr;
  Py_XDECREF(capsule);  // the table stays for the life of the process
  PyErr_Clear();
  while (table && table->major > 1) table = table->previous;
  const auto describe = table && table->major == 1 ? table->describe : nullptr;
  for (auto& slot : known)
    if (!slot.first) {
      Py_INCREF(reinterpret_cast<PyObject*>(type));  // its address must stay its own
      slot = {type, describe};
      break;
    }
  return describe;
}

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

ArrayArgument::~ArrayArgument() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
}

int64_t* ArrayArgument::Room(int32_t rank) {
  if (rank <= kInline) return small_.data();
  large_.resize(2 * static_cast<size_t>(rank));
  return large_.data();
}

bool ArrayArgument::Take(nb::handle object, DType expected) {
  array_.device_type = HR_DEVICE_CPU;
  if (PyFloat_CheckExact(object.ptr()) || PyLong_CheckExact(object.ptr()) || PyBool_Check(object.ptr()) ||
      PyComplex_CheckExact(object.ptr()))
    return TakeNumber(object, expected);
  if (PyObject_CheckBuffer(object.ptr()) && TakeBuffer(object)) return true;
  return TakeExchanged(object) || TakeSmallFloats(object) || TakeDlpack(object);
}

bool ArrayArgument::TakeBuffer(nb::handle object) {
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
    PyErr_Clear();
    return false;
  }
  has_buffer_ = true;
  const DType t = FromFormat(buffer_.format, buffer_.itemsize);
  bool whole = t != DType::kNone;
  int64_t* shape = Room(buffer_.ndim);
  int64_t* strides = shape + buffer_.ndim;
  for (int d = 0; d < buffer_.ndim && whole; ++d) {
    shape[d] = buffer_.shape[d];
    whole = buffer_.strides[d] % buffer_.itemsize == 0;
    strides[d] = buffer_.strides[d] / buffer_.itemsize;
  }
  if (!whole) {
    PyBuffer_Release(&buffer_);
    has_buffer_ = false;
    return false;
  }
  array_.data = buffer_.buf;
  array_.shape = shape;
  array_.strides = strides;
  array_.dtype = static_cast<int32_t>(t);
  array_.rank = buffer_.ndim;
  array_.flags = buffer_.readonly ? HR_ARRAY_READ_ONLY : 0;
  return true;
}

bool ArrayArgument::TakeExchanged(nb::handle object) {
  const auto describe = DescriberOf(object);
  if (!describe) return false;
  nb::dlpack::dltensor t;
  if (describe(object.ptr(), &t) != 0) {  // a tensor that has no plain elements: the slow way says so, or finds one
    PyErr_Clear();
    return false;
  }
  const DType dtype = FromDlpack(t.dtype);
  if (dtype == DType::kNone || t.device.device_type != HR_DEVICE_CPU) return false;
  int64_t* shape = Room(t.ndim);  // the table's own is for the time of that call alone
  for (int32_t d = 0; d < t.ndim; ++d) {
    shape[d] = t.shape[d];
    shape[t.ndim + d] = t.strides[d];
  }
  array_.data = static_cast<char*>(t.data) + t.byte_offset;
  array_.shape = shape;
  array_.strides = shape + t.ndim;
  array_.dtype = static_cast<int32_t>(dtype);
  array_.rank = t.ndim;
  return true;
}

bool ArrayArgument::TakeDlpack(nb::handle object) {
  if (!nb::hasattr(object, "__dlpack__")) return false;
  keep_ = nb::borrow(object);
  // A tensor that autograd follows shows itself only detached; this code runs outside of autograd.
  if (nb::hasattr(object, "requires_grad") && nb::cast<bool>(object.attr("requires_grad"))) keep_ = object.attr("detach")();
  nb::ndarray<> writable;
  bool read_only = false;
  if (nb::try_cast(keep_, writable)) {
    dlpack_ = nb::ndarray<nb::ro>(writable);
  } else if (nb::try_cast(keep_, dlpack_)) {
    read_only = true;
  } else {
    return false;
  }
  const DType t = FromDlpack(dlpack_.dtype());
  if (t == DType::kNone) return false;
  const int32_t rank = static_cast<int32_t>(dlpack_.ndim());
  int64_t* shape = Room(rank);
  for (int32_t d = 0; d < rank; ++d) {
    shape[d] = static_cast<int64_t>(dlpack_.shape(static_cast<size_t>(d)));
    shape[rank + d] = dlpack_.stride(static_cast<size_t>(d));
  }
  array_.data = const_cast<void*>(static_cast<const void*>(dlpack_.data()));
  array_.shape = shape;
  array_.strides = shape + rank;
  array_.dtype = static_cast<int32_t>(t);
  array_.rank = rank;
  array_.device_type = dlpack_.device_type();
  array_.device_id = dlpack_.device_id();
  array_.flags = read_only ? HR_ARRAY_READ_ONLY : 0;
  return true;
}

bool ArrayArgument::TakeSmallFloats(nb::handle object) {
  if (!nb::hasattr(object, "dtype")) return false;
  const nb::object name = nb::getattr(object.attr("dtype"), "name", nb::none());
  if (!nb::isinstance<nb::str>(name)) return false;
  const std::string text = nb::cast<std::string>(name);
  for (const SmallFloat& s : kSmallFloats) {
    if (text != s.name) continue;
    // The upper bits of ml_dtypes' integers say nothing, and ours are sign-extended: these are converted, so not written to.
    const bool integer = IsInteger(s.dtype);
    keep_ = integer ? object.attr("astype")(s.storage) : object.attr("view")(s.storage);
    if (!TakeBuffer(keep_)) return false;
    array_.dtype = static_cast<int32_t>(s.dtype);
    if (integer) array_.flags = HR_ARRAY_READ_ONLY;
    return true;
  }
  return false;
}

bool ArrayArgument::TakeNumber(nb::handle object, DType expected) {
  const bool real = PyFloat_CheckExact(object.ptr()) || IsFloat(expected);
  if (IsComplex(expected)) {
    const double parts[2] = {PyComplex_RealAsDouble(object.ptr()), PyComplex_ImagAsDouble(object.ptr())};
    if (expected == DType::kC64) {
      const float single[2] = {static_cast<float>(parts[0]), static_cast<float>(parts[1])};
      std::memcpy(number_.data(), single, sizeof single);
    } else {
      std::memcpy(number_.data(), parts, sizeof parts);
    }
  } else {
    if (PyComplex_CheckExact(object.ptr()) || (PyFloat_CheckExact(object.ptr()) && !IsFloat(expected))) return false;
    auto storage = Buffer::Wrap(number_.data(), 16, nullptr);
    Tensor t;
    t.dtype = expected;
    t.data = storage;
    if (real) {
      t.SetDouble(0, PyFloat_AsDouble(object.ptr()));
    } else {
      int overflow = 0;
      long long v = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
      if (overflow > 0 && expected == DType::kU64) v = static_cast<long long>(PyLong_AsUnsignedLongLong(object.ptr()));
      else if (overflow != 0) PyErr_SetString(PyExc_OverflowError, "the number does not fit into 64 bits");
      t.SetInt(0, v);
    }
  }
  if (PyErr_Occurred()) throw nb::python_error();
  array_.data = number_.data();
  array_.shape = small_.data();
  array_.strides = nullptr;
  array_.dtype = static_cast<int32_t>(expected);
  array_.rank = 0;
  array_.flags = HR_ARRAY_READ_ONLY;
  return true;
}

ArrayKind KindOf(nb::handle object) {
  static std::array<std::pair<PyTypeObject*, ArrayKind>, 4> known = {};  // guarded by the GIL
  PyTypeObject* type = Py_TYPE(object.ptr());
  if (type == reinterpret_cast<PyTypeObject*>(Numpy::Get().ndarray)) return ArrayKind::kNumpy;
  for (const auto& [t, kind] : known)
    if (t == type) return kind;
  const nb::handle named = object.type();
  const auto text = [&](const char* attribute) { return std::string(nb::str(nb::getattr(named, attribute, nb::str(""))).c_str()); };
  const std::string name = text("__name__");
  const bool torch = (name == "Tensor" || name == "Parameter") && text("__module__").rfind("torch", 0) == 0;
  const ArrayKind kind = torch ? ArrayKind::kTorch : ArrayKind::kNumpy;
  for (auto& slot : known)
    if (!slot.first) {
      Py_INCREF(reinterpret_cast<PyObject*>(type));  // its address must stay its own
      slot = {type, kind};
      break;
    }
  return kind;
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

namespace {

bool IsStrings(nb::handle object) {
  if (!nb::hasattr(object, "dtype")) return false;
  const nb::object kind = nb::getattr(object.attr("dtype"), "kind", nb::none());
  if (!nb::isinstance<nb::str>(kind)) return false;
  const std::string k = nb::cast<std::string>(kind);
  return k == "U" || k == "S" || k == "O" || k == "T";
}

Tensor StringTensor(nb::handle array) {
  Tensor t;
  t.dtype = DType::kString;
  for (nb::handle d : array.attr("shape")) t.shape.push_back(nb::cast<int64_t>(d));
  t.strings = std::make_shared<std::vector<std::string>>();
  for (nb::handle s : array.attr("ravel")().attr("tolist")())
    t.strings->push_back(nb::isinstance<nb::bytes>(s) ? std::string(nb::cast<nb::bytes>(s).c_str(), nb::cast<nb::bytes>(s).size())
                                                      : nb::cast<std::string>(nb::str(s)));
  return t;
}

Tensor CopyTensor(const hr_array& a) {
  auto made = Tensor::Create(static_cast<DType>(a.dtype), std::vector<int64_t>(a.shape, a.shape + a.rank));
  if (!made.ok()) throw std::bad_alloc();
  const int64_t item = ByteSize(made->dtype);
  std::vector<int64_t> at(static_cast<size_t>(a.rank), 0);
  for (int64_t i = 0, n = made->elements(); i < n; ++i) {
    int64_t offset = a.strides ? 0 : i;
    for (int32_t d = 0; a.strides && d < a.rank; ++d) offset += at[static_cast<size_t>(d)] * a.strides[d];
    std::memcpy(made->data->data() + i * item, static_cast<const char*>(a.data) + offset * item, static_cast<size_t>(item));
    for (int32_t d = a.rank - 1; d >= 0 && ++at[static_cast<size_t>(d)] == a.shape[d]; --d) at[static_cast<size_t>(d)] = 0;
  }
  return std::move(*made);
}

}  // namespace

Value ToValue(nb::handle object, const ValueType& type, const std::string& name) {
  if (object.is_none()) return Value();
  if (type.kind == ValueType::kOptional && type.element) return ToValue(object, *type.element, name);  // there: the value itself
  const ValueType& inner = type.kind == ValueType::kTensor || !type.element ? type : *type.element;
  if (type.kind == ValueType::kSequence || nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object)) {
    Value v;
    v.kind = Value::kSequence;
    int k = 0;
    for (nb::handle item : object) v.items.push_back(ToValue(item, inner, name + "[" + std::to_string(k++) + "]"));
    return v;
  }
  if (nb::isinstance<nb::str>(object) || IsStrings(object))
    return Value(StringTensor(nb::module_::import_("numpy").attr("asarray")(object)));
  ArrayArgument a;
  if (!a.Take(object, inner.dtype))
    throw nb::type_error(("'" + name + "' is no array: " + nb::cast<std::string>(nb::repr(object.type()))).c_str());
  if (a.array().device_type != HR_DEVICE_CPU)
    throw nb::value_error(("'" + name + "' is not in host memory").c_str());
  return Value(CopyTensor(a.array()));
}

nb::object FromValue(const Value& v) {
  if (v.kind == Value::kAbsent) return nb::none();
  if (v.kind == Value::kSequence) {
    nb::list all;
    for (const Value& item : v.items) all.append(FromValue(item));
    return all;
  }
  const Tensor& t = v.tensor;
  if (t.dtype == DType::kString) {
    nb::list all;
    for (const std::string& s : *t.strings) all.append(nb::str(s.c_str(), s.size()));
    nb::object numpy = nb::module_::import_("numpy");
    return numpy.attr("array")(all, nb::arg("dtype") = "object")
        .attr("reshape")(ShapeTuple(static_cast<int32_t>(t.shape.size()), t.shape.data()));
  }
  void* memory = nullptr;
  nb::object made = NewArray(ArrayKind::kNumpy, t.dtype, static_cast<int32_t>(t.shape.size()), t.shape.data(), &memory);
  std::memcpy(memory, t.data->data(), static_cast<size_t>(t.bytes()));
  return made;
}

}  // namespace headrace::python
