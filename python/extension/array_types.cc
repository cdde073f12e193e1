#include "python/extension/array_types.h"

#include <array>
#include <string>
#include <utility>

namespace headrace::python {
namespace {

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

// DLPack 1.2's DLPackExchangeAPI.
struct ExchangeTable {
  uint32_t major, minor;
  ExchangeTable* previous;
  void *allocate, *to_managed, *from_managed;
  Describe describe;
};

}  // namespace

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

std::optional<nb::dlpack::dtype> ToDlpack(DType t) {
  const auto bits = static_cast<uint8_t>(8 * ByteSize(t));
  switch (t) {
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64: return nb::dlpack::dtype{0, bits, 1};
    case DType::kU8: return nb::dlpack::dtype{1, bits, 1};
    case DType::kF16:
    case DType::kF32:
    case DType::kF64: return nb::dlpack::dtype{2, bits, 1};
    case DType::kC64:
    case DType::kC128: return nb::dlpack::dtype{5, bits, 1};
    case DType::kBool: return nb::dlpack::dtype{6, bits, 1};
    default: return std::nullopt;
  }
}

const SmallFloat* FindSmallFloat(DType t) {
  for (const SmallFloat& s : kSmallFloats)
    if (s.dtype == t) return &s;
  return nullptr;
}

const SmallFloat* FindSmallFloat(const std::string& name) {
  for (const SmallFloat& s : kSmallFloats)
    if (name == s.name) return &s;
  return nullptr;
}

Describe DescriberOf(nb::handle object) {
  static std::array<std::pair<PyTypeObject*, Describe>, 4> known = {};  // guarded by the GIL
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

nb::object ShapeTuple(int32_t rank, const int64_t* shape) {
  PyObject* t = PyTuple_New(rank);
  for (int32_t d = 0; d < rank; ++d) NB_TUPLE_SET_ITEM(t, d, PyLong_FromLongLong(shape[d]));
  return nb::steal(t);
}

}  // namespace headrace::python
