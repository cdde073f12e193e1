#include "driver/samples/samples.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

namespace headrace {
namespace {

// Splits at `separator` outside quotes and brackets; parts without blanks around them.
std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) parts.back() += text[i++];
    else if (c == '"') quoted = !quoted;
    else if (!quoted) depth += (c == '[' || c == '{' || c == '(') - (c == ']' || c == '}' || c == ')');
    if (c == separator && !quoted && depth == 0) parts.emplace_back();
    else parts.back() += text[i];
  }
  for (std::string& p : parts) {
    size_t a = p.find_first_not_of(" \n\t"), b = p.find_last_not_of(" \n\t");
    p = a == std::string::npos ? "" : p.substr(a, b - a + 1);
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

std::string Unbracketed(const std::string& t) {
  return t.size() >= 2 && t[0] == '[' && t.back() == ']' ? t.substr(1, t.size() - 2) : t;
}

std::string Unquoted(const std::string& t) {
  std::string out;
  for (size_t i = 1; i + 1 < t.size(); ++i) out += t[i] == '\\' ? t[++i] : t[i];
  return t.size() >= 2 && t[0] == '"' ? out : t;
}

bool Number(const std::string& t, double* v) {
  if (t == "true" || t == "false") return *v = t == "true", true;
  char* end = nullptr;
  *v = std::strtod(t.c_str(), &end);
  return !t.empty() && *end == 0;
}

Status Bad(const OpSample& s, const std::string& what) {
  return InvalidError("E0453", s.Label() + ": " + what, "the sample is: " + s.text);
}

// "X: f32[2, 3] in [-1, 1] = [1, 2]" after the first colon.
Status ParseInput(OpSample& s, const std::string& item, std::mt19937_64& random) {
  SampleInput in;
  size_t colon = item.find(':');
  in.port = Split(item.substr(0, colon), ' ').empty() ? "" : Split(item.substr(0, colon), ' ')[0];
  std::string rest = item.substr(colon + 1), given, range;
  if (size_t at = rest.find('='); at != std::string::npos)
    given = rest.substr(at + 1), rest = rest.substr(0, at), in.given = true;
  if (size_t at = rest.find(" in "); at != std::string::npos) range = rest.substr(at + 4), rest = rest.substr(0, at);
  std::vector<std::string> type = Split(rest, '\0');
  size_t open = type.empty() ? std::string::npos : type[0].find('[');
  std::optional<DType> dtype = open == std::string::npos ? std::nullopt : ParseDType(type[0].substr(0, open));
  if (!dtype) return Bad(s, "'" + item + "' should be NAME: dtype[dims]");
  in.dtype = *dtype;
  double v;
  for (const std::string& d : Split(Unbracketed(type[0].substr(open)), ',')) {
    if (!Number(d, &v)) return Bad(s, "'" + d + "' is not a size");
    in.shape.push_back(static_cast<int64_t>(v));
  }
  HR_ASSIGN_OR_RETURN(in.value, Tensor::Create(in.dtype, in.shape));
  const int64_t n = in.value.elements();
  const bool real = IsFloat(in.dtype) || IsComplex(in.dtype);
  if (!real) in.lo = 0, in.hi = in.dtype == DType::kBool ? 1 : 9;
  std::vector<std::string> bounds = Split(range, '\0');
  if (!bounds.empty()) {
    std::vector<std::string> two = Split(Unbracketed(bounds[0]), ',');
    if (two.size() != 2 || !Number(two[0], &in.lo) || !Number(two[1], &in.hi))
      return Bad(s, "'" + range + "' should be [lo, hi]");
  }
  if (in.given && IsComplex(in.dtype))
    return Bad(s, "'" + in.port + "' is complex: such inputs are drawn at random, and have no values of their own");
  std::vector<std::string> values = in.given ? Split(given, '\0') : std::vector<std::string>();
  if (!values.empty()) values = Split(Unbracketed(values[0]), ',');
  if (in.given && static_cast<int64_t>(values.size()) != n)
    return Bad(
        s, "'" + in.port + "' has " + std::to_string(values.size()) + " values for " + std::to_string(n) + " elements");
  for (int64_t i = 0; i < n; ++i) {
    if (in.dtype == DType::kString) {
      (*in.value.strings)[static_cast<size_t>(i)] =
          in.given ? Unquoted(values[static_cast<size_t>(i)]) : std::string(1, static_cast<char>('a' + random() % 4));
      continue;
    }
    if (IsComplex(in.dtype)) {
      for (int part = 0; part < 2; ++part) {
        double x = in.lo + (in.hi - in.lo) * (static_cast<double>(random() >> 11) / (1ull << 53));
        if (in.dtype == DType::kC64) in.value.as<float>()[2 * i + part] = static_cast<float>(x);
        else in.value.as<double>()[2 * i + part] = x;
      }
      continue;
    }
    double x;
    if (in.given) {
      if (!Number(values[static_cast<size_t>(i)], &x))
        return Bad(s, "'" + values[static_cast<size_t>(i)] + "' is not a number");
    } else if (real) {
      x = in.lo + (in.hi - in.lo) * (static_cast<double>(random() >> 11) / (1ull << 53));
    } else {
      x = in.lo + static_cast<double>(random() % static_cast<uint64_t>(in.hi - in.lo + 1));
    }
    if (real) in.value.SetDouble(i, x);
    else in.value.SetInt(i, static_cast<int64_t>(x));
  }
  s.inputs.push_back(std::move(in));
  return {};
}

Status ParseAttribute(OpSample& s, const std::string& item) {
  size_t equals = item.find('=');
  if (equals == std::string::npos) return Bad(s, "'" + item + "' should be NAME = value");
  const std::string name = Split(item.substr(0, equals), '\0')[0], text = Split(item.substr(equals + 1), '\0')[0];
  const AttributeSignature* a = nullptr;
  for (const AttributeSignature& declared : s.signature->attributes)
    if (declared.name == name) a = &declared;
  if (!a) return Bad(s, "the op has no attribute '" + name + "'");
  std::vector<double> numbers;
  std::vector<std::string> strings;
  for (const std::string& e : Split(Unbracketed(text), ',')) {
    double v = 0;
    if (Number(e, &v)) numbers.push_back(v);
    else strings.push_back(Unquoted(e));
  }
  const std::vector<int64_t> ints(numbers.begin(), numbers.end());
  Attribute value;
  std::string type;
  switch (a->type) {
    case AttributeType::kInt: type = "int", value.value = ints.empty() ? int64_t{0} : ints[0]; break;
    case AttributeType::kFloat: type = "float", value.value = numbers.empty() ? 0.0 : numbers[0]; break;
    case AttributeType::kString: type = "string", value.value = Unquoted(text); break;
    case AttributeType::kInts: type = "ints", value.value = ints; break;
    case AttributeType::kFloats: type = "floats", value.value = numbers; break;
    case AttributeType::kStrings: type = "strings", value.value = strings; break;
    default: type = "tensor", value.value = text;  // ONNX's own text: float[2] {1, 2}
  }
  s.attributes.emplace_back(name, value);
  s.attribute_texts.push_back(name + ": " + type + " = " + text);
  return {};
}

// The newest signature that the definition serves; one that is not withdrawn, if there is one.
const OpSignature* Newest(const Registry& r, const OpDefinition& d) {
  const OpSignature* best = nullptr;
  auto rank = [](const OpSignature* s) { return std::make_pair(!s->deprecated, s->since_version); };
  for (const OpSignature* s : r.Ops())
    if (s->domain == d.domain && s->name == d.name && s->since_version >= d.since_version &&
        s->since_version <= d.until_version && (!best || rank(s) > rank(best)))
      best = s;
  if (best) return best;
  for (const OpSignature* s : r.Ops())  // a block that begins between two versions
    if (s->domain == d.domain && s->name == d.name && s->since_version <= d.until_version &&
        (!best || rank(s) > rank(best)))
      best = s;
  return best;
}

std::string OnnxType(DType t) {
  static const std::map<DType, const char*> kNames = {{DType::kBool, "bool"},
                                                      {DType::kU2, "uint2"},
                                                      {DType::kI2, "int2"},
                                                      {DType::kU4, "uint4"},
                                                      {DType::kI4, "int4"},
                                                      {DType::kU8, "uint8"},
                                                      {DType::kI8, "int8"},
                                                      {DType::kU16, "uint16"},
                                                      {DType::kI16, "int16"},
                                                      {DType::kU32, "uint32"},
                                                      {DType::kI32, "int32"},
                                                      {DType::kU64, "uint64"},
                                                      {DType::kI64, "int64"},
                                                      {DType::kF4E2M1, "float4e2m1"},
                                                      {DType::kF8E4M3FN, "float8e4m3fn"},
                                                      {DType::kF8E4M3FNUZ, "float8e4m3fnuz"},
                                                      {DType::kF8E5M2, "float8e5m2"},
                                                      {DType::kF8E5M2FNUZ, "float8e5m2fnuz"},
                                                      {DType::kF8E8M0, "float8e8m0"},
                                                      {DType::kF16, "float16"},
                                                      {DType::kBF16, "bfloat16"},
                                                      {DType::kF32, "float"},
                                                      {DType::kF64, "double"},
                                                      {DType::kC64, "complex64"},
                                                      {DType::kC128, "complex128"},
                                                      {DType::kString, "string"}};
  auto it = kNames.find(t);
  return it == kNames.end() ? "float" : it->second;
}

std::string OnnxShape(const std::vector<int64_t>& shape) {
  if (shape.empty()) return "";  // "float[]" would be any rank
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + "]";
}

std::string OnnxValue(const Tensor& t, int64_t i) {
  std::ostringstream out;
  out.precision(17);
  if (t.dtype == DType::kString) out << '"' << (*t.strings)[static_cast<size_t>(i)] << '"';
  else if (t.dtype == DType::kF32 || t.dtype == DType::kF64) out << t.GetDouble(i);
  else if (IsFloat(t.dtype)) out << EncodeFloat(t.dtype, t.GetDouble(i));
  else out << t.GetInt(i);
  return out.str();
}

// Names of the values of the sample's inputs, as the program has them.
std::vector<std::string> ValueNames(const OpSample& s) {
  std::vector<std::string> names;
  std::map<std::string, int> count;
  for (const SampleInput& in : s.inputs) {
    bool variadic = false;
    for (const PortSignature& p : s.signature->inputs) variadic |= p.name == in.port && p.variadic;
    names.push_back(variadic ? in.port + "_" + std::to_string(count[in.port]++) : in.port);
  }
  return names;
}

}  // namespace

std::string OpSample::Label() const {
  return definition->domain + "." + definition->name + " (opset " +
         std::to_string(signature ? signature->since_version : 0) + "), sample " + std::to_string(number);
}

Result<OpSample> ParseSample(const Registry& r, const OpDefinition& d, int number, uint64_t seed) {
  OpSample s;
  s.definition = &d, s.number = number;
  s.text = d.samples.at(static_cast<size_t>(number));
  s.signature = Newest(r, d);
  if (!s.signature) return Bad(s, "nobody declares the op in these versions");
  // The same values in every process: mt19937_64 and the arithmetic below are exact.
  std::seed_seq words{static_cast<uint32_t>(seed), static_cast<uint32_t>(std::hash<std::string>{}(s.Label()))};
  std::mt19937_64 random(words);
  for (const std::string& item : Split(s.text, ';')) {
    if (item.rfind("at ", 0) == 0) {
      if (s.inputs.empty()) return Bad(s, "'at' stands before any input");
      SampleInput& in = s.inputs.back();
      for (const std::string& t : Split(item.substr(3), ',')) {
        double v;
        if (!Number(t, &v)) return Bad(s, "'" + t + "' is not a number");
        if (in.special >= in.value.elements()) return Bad(s, "more named points than '" + in.port + "' has elements");
        if (IsComplex(in.dtype)) return Bad(s, "'" + in.port + "' is complex, and a named point is a real number");
        if (IsFloat(in.dtype)) in.value.SetDouble(in.special++, v);
        else in.value.SetInt(in.special++, static_cast<int64_t>(v));
      }
    } else if (item.rfind("attr ", 0) == 0) {
      for (const std::string& a : Split(item.substr(5), ',')) HR_RETURN_IF_ERROR(ParseAttribute(s, a));
    } else if (item.rfind("out ", 0) == 0) {
      s.outputs = Split(item.substr(4), ',');
    } else if (item.find(':') != std::string::npos) {
      HR_RETURN_IF_ERROR(ParseInput(s, item, random));
    } else {
      return Bad(s, "'" + item + "' is none of: NAME: dtype[dims] …, at …, attr …, out …");
    }
  }
  std::sort(s.attributes.begin(), s.attributes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  auto position = [&](const std::string& port) {
    for (size_t i = 0; i < s.signature->inputs.size(); ++i)
      if (s.signature->inputs[i].name == port) return static_cast<int>(i);
    return -1;
  };
  for (const SampleInput& in : s.inputs)
    if (position(in.port) < 0) return Bad(s, "the op has no input '" + in.port + "'");
  std::stable_sort(s.inputs.begin(), s.inputs.end(),
                   [&](const auto& a, const auto& b) { return position(a.port) < position(b.port); });
  if (s.outputs.empty()) {
    for (const PortSignature& p : s.signature->outputs)
      if (!p.optional) s.outputs.push_back(p.name);
    if (s.outputs.empty())
      for (const PortSignature& p : s.signature->outputs) s.outputs.push_back(p.name);
  }
  return s;
}

std::vector<OpSample> Samples(const Registry& r, const std::string& filter, std::vector<Status>* errors,
                              uint64_t seed) {
  std::vector<OpSample> all;
  for (const OpDefinition* d : r.Definitions()) {
    if (d->name.find(filter) == std::string::npos) continue;
    for (int i = 0; i < static_cast<int>(d->samples.size()); ++i) {
      Result<OpSample> s = ParseSample(r, *d, i, seed);
      if (s.ok()) all.push_back(std::move(*s));
      else if (errors) errors->push_back(s.status());
    }
  }
  return all;
}

std::vector<std::pair<Name, Value>> SampleValues(const OpSample& s) {
  std::vector<std::pair<Name, Value>> out;
  std::vector<std::string> names = ValueNames(s);
  for (size_t i = 0; i < names.size(); ++i)
    if (!s.inputs[i].given) out.emplace_back(Name(names[i]), Value(s.inputs[i].value));
  return out;
}

std::string SampleModel(const OpSample& s) {
  const std::string domain = s.definition->domain == "onnx" ? "" : s.definition->domain;
  const std::string version = std::to_string(s.signature->since_version);
  std::string inputs, constants, arguments, attributes, results, outputs;
  std::vector<std::string> names = ValueNames(s);
  for (size_t i = 0; i < names.size(); ++i) {
    const Tensor& t = s.inputs[i].value;
    std::string declaration = OnnxType(t.dtype) + OnnxShape(t.shape) + " " + names[i];
    if (s.inputs[i].given) {
      constants += (constants.empty() ? "" : ", ") + declaration + " = {";
      for (int64_t k = 0; k < t.elements(); ++k) constants += (k ? ", " : "") + OnnxValue(t, k);
      constants += "}";
    } else {
      inputs += (inputs.empty() ? "" : ", ") + declaration;
    }
  }
  size_t next = 0;
  std::vector<std::string> list;
  for (const PortSignature& p : s.signature->inputs) {
    size_t before = next;
    while (next < names.size() && s.inputs[next].port == p.name) list.push_back(names[next++]);
    if (next == before) list.push_back("");
  }
  while (!list.empty() && list.back().empty()) list.pop_back();
  for (const std::string& n : list) arguments += (&n == &list[0] ? "" : ", ") + n;
  for (const std::string& a : s.attribute_texts) attributes += (attributes.empty() ? "" : ", ") + a;
  // An output may share its name with an input (BatchNormalization up to 13): results are called out_PORT in the file.
  list.clear();
  for (const PortSignature& p : s.signature->outputs) {
    int copies = static_cast<int>(std::count(s.outputs.begin(), s.outputs.end(), p.name));
    if (copies == 0) list.push_back("");
    for (int k = 0; k < copies; ++k) {
      list.push_back("out_" + p.name + (copies > 1 ? "_" + std::to_string(k) : ""));
      outputs += (outputs.empty() ? "" : ", ") + list.back();
    }
  }
  while (!list.empty() && list.back().empty()) list.pop_back();
  for (const std::string& n : list) results += (&n == &list[0] ? "" : ", ") + n;
  std::ostringstream model;
  model << "<ir_version: 10, opset_import: [\"" << domain << "\" : " << version << (domain.empty() ? "" : ", \"\" : 21")
        << "]>\n"
        << "sample (" << inputs << ") => (" << outputs << ")" << (constants.empty() ? "" : " <" + constants + ">")
        << " {\n  " << results << " = " << (domain.empty() ? "" : domain + ".") << s.definition->name
        << (attributes.empty() ? "" : " <" + attributes + ">") << " (" << arguments << ")\n}\n";
  return model.str();
}

Result<Program> SampleProgram(const Registry& r, const OpSample& s, const std::string& folder) {
  const Importer* importer = r.FindImporter("onnx");
  if (!importer) return InternalError("the ONNX importer is not loaded");
  const std::string path = folder + "/sample.onnxtxt", model = SampleModel(s);
  std::ofstream(path) << model;
  ImportOptions options;
  options.simplify = false;  // a node of constants alone stays a node
  Result<ImportedModel> m = importer->import(path, options, r);
  if (!m.ok()) return Bad(s, m.status().ToString() + "\n" + model);
  return m->program;
}

Result<Program> InDouble(const Program& p) {
  auto widened = [](DType t) { return IsFloat(t) && t != DType::kF64 ? DType::kF64 : t; };
  Program wide = p;
  for (const auto& shared : p.sdfgs) {
    Sdfg& s = wide.Mutable(shared->name);
    for (Name n : std::vector<Name>(s.order)) {
      Container& c = s.Mutable(n);
      if (c.kind == ContainerKind::kConstant && widened(c.dtype) != c.dtype) {
        HR_ASSIGN_OR_RETURN(Tensor t, Tensor::Create(DType::kF64, c.data.shape));
        for (int64_t i = 0; i < t.elements(); ++i) t.SetDouble(i, c.data.GetDouble(i));
        c.data = t;
      }
      c.dtype = widened(c.dtype);
    }
  }
  return wide;
}

Result<std::vector<std::pair<Name, Value>>> InDouble(const std::vector<std::pair<Name, Value>>& values) {
  std::vector<std::pair<Name, Value>> out;
  for (const auto& [name, v] : values) {
    out.emplace_back(name, v);
    if (v.kind != Value::kTensor || !IsFloat(v.tensor.dtype) || v.tensor.dtype == DType::kF64) continue;
    HR_ASSIGN_OR_RETURN(Tensor t, Tensor::Create(DType::kF64, v.tensor.shape));
    for (int64_t i = 0; i < t.elements(); ++i) t.SetDouble(i, v.tensor.GetDouble(i));
    out.back().second = Value(t);
  }
  return out;
}

}  // namespace headrace
