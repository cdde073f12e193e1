// Values that the user gives by the model's names: --input NAME=@FILE.npy.
#include <unistd.h>

#include "driver/commands/commands.h"

namespace headrace {

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

Result<NamedValues> ReadInputs(const ImportedModel& m, const std::vector<std::string>& flags) {
  NamedValues values;
  for (const std::string& text : flags) {
    HR_ASSIGN_OR_RETURN(auto pair, SplitPair(text, "--input"));
    if (pair.second[0] != '@') return UsageError("E0438", "--input " + text + ": the value is a file, NAME=@FILE.npy");
    HR_ASSIGN_OR_RETURN(Name input, ResolveName(m, Inputs(m.program, m.program.Entry()), "input", pair.first));
    for (const auto& v : values)
      if (v.first == input) return UsageError("E0440", "input '" + pair.first + "' is given twice");
    Result<Tensor> t = ReadNpy(pair.second.substr(1));
    if (!t.ok()) return WithFile(t.status(), pair.second.substr(1));
    values.emplace_back(input, Value(std::move(*t)));
  }
  return values;
}

const Tensor* EarlyValues::operator()(const std::string& name, int index) {
  for (const std::string& text : inputs_)
    if (text.rfind(name + "=@", 0) == 0) return Keep(ReadNpy(text.substr(name.size() + 2)));
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
