// Values that the user gives by the model's names: --input NAME=@FILE.npy, NAME=@FILE.npz:ARRAY, NAME=3, NAME=[0,1].
#include <unistd.h>

#include "driver/commands/commands.h"
#include "driver/literal.h"
#include "driver/npz.h"

namespace headrace {
namespace {

std::string Dimensions(size_t rank) { return std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions"); }

// `c`: what the value is for.
Result<Tensor> ReadValue(ArrayFiles* files, const std::string& name, const std::string& text, const Container& c,
                         const std::string& flag) {
  if (text[0] == '@') return files->Read(text.substr(1), name);
  Result<Tensor> t = ParseLiteral(text, c.dtype);
  if (!t.ok()) {
    std::vector<Diagnostic> all = t.status().diagnostics();
    all[0].message = flag + " " + name + "=" + text + ": " + all[0].message;
    return Status(all);
  }
  if (t->shape.size() != c.shape.size())
    return UsageError("E0462", flag + " " + name + "=" + text + ": the value has " + Dimensions(t->shape.size()) + ", '" + name +
                          "' has " + std::to_string(c.shape.size()),
                      c.shape.empty() ? "write a number, as " + name + "=3" : "write a list for each, as [3] or [[3]]");
  return t;
}

}  // namespace

Status NoSuchName(const std::string& what, const std::string& name, const std::vector<std::string>& names) {
  std::string close = ClosestWord(name, names), all;
  for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
  return UsageError("E0439", "the model has no " + what + " '" + name + "'",
                    close.empty() ? what + "s: " + all : "did you mean '" + close + "'?");
}

Result<Name> ResolveName(const ImportedModel& m, const std::vector<Name>& among, const std::string& what,
                         const std::string& given) {
  std::vector<std::string> names;
  for (Name n : among) {
    names.push_back(m.OriginalName(n));
    if (names.back() == given || n.view() == given) return n;
  }
  return NoSuchName(what, given, names);
}

Result<NamedValues> ReadValues(const ImportedModel& m, const std::vector<Name>& among, const std::string& what,
                               const std::string& flag, const std::vector<std::string>& texts) {
  NamedValues values;
  ArrayFiles files;
  for (const std::string& text : texts) {
    HR_ASSIGN_OR_RETURN(auto pair, SplitPair(text, flag));
    HR_ASSIGN_OR_RETURN(Name name, ResolveName(m, among, what, pair.first));
    for (const auto& v : values)
      if (v.first == name) return UsageError("E0440", flag + " " + pair.first + " is given twice");
    HR_ASSIGN_OR_RETURN(Tensor t, ReadValue(&files, pair.first, pair.second, m.program.Entry().Get(name), flag));
    values.emplace_back(name, Value(std::move(t)));
  }
  return values;
}

Result<NamedValues> ReadInputs(const ImportedModel& m, const std::vector<std::string>& flags) {
  return ReadValues(m, Inputs(m.program, m.program.Entry()), "input", "--input", flags);
}

const Tensor* EarlyValues::operator()(const std::string& name, int index) {
  for (const std::string& text : inputs_) {
    if (text.rfind(name + "=", 0) != 0 || text.size() == name.size() + 1) continue;
    const std::string value = text.substr(name.size() + 1);
    if (value[0] != '@') return Keep(ParseLiteral(value, DType::kNone));
    ArrayFiles files;
    return Keep(files.Read(value.substr(1), name));
  }
  const Importer* importer = registry_.FindImporter("onnx");
  std::string file = test_data_ + "/input_" + std::to_string(index) + ".pb";
  if (test_data_.empty() || !importer || access(file.c_str(), F_OK) != 0) return nullptr;
  Result<Value> v = importer->read_value(file);
  return v.ok() && v->kind == Value::kTensor ? Keep(v->tensor)
                                             : nullptr;  // what is wrong with the file is said when it is read to run
}

const Tensor* EarlyValues::Keep(Result<Tensor> t) {
  if (!t.ok()) return nullptr;
  kept_.push_back(std::make_unique<Tensor>(std::move(*t)));
  return kept_.back().get();
}

}  // namespace headrace
