// Where results go: .npy files, arrays of .npz archives, standard output.
#include <algorithm>

#include "driver/commands/commands.h"
#include "driver/files.h"
#include "driver/npz.h"
#include "ir/base/npy.h"

namespace headrace {

Result<std::vector<OutputTarget>> ReadTargets(const ImportedModel& m, const std::vector<Name>& outputs,
                                              const std::vector<std::string>& flags) {
  std::vector<OutputTarget> targets;
  for (const std::string& text : flags) {
    HR_ASSIGN_OR_RETURN(auto pair, SplitPair(text, "--output"));
    if (pair.second != "-" && (pair.second[0] != '@' || pair.second.size() == 1))
      return UsageError("E0438", "--output " + text + ": the target is a file, NAME=@FILE.npy",
                        "also @FILE.npz, @FILE.npz:ARRAY, or - for standard output");
    HR_ASSIGN_OR_RETURN(Name n, ResolveName(m, outputs, "output", pair.first));
    OutputTarget t;
    t.index = static_cast<size_t>(std::find(outputs.begin(), outputs.end(), n) - outputs.begin());
    const ArrayPlace place = pair.second == "-" ? ArrayPlace{"-", ""} : ParsePlace(pair.second.substr(1));
    t.path = place.path, t.archive = place.archive;
    t.array = place.archive && place.array.empty() ? pair.first : place.array;
    for (const OutputTarget& other : targets)
      if (other.path == t.path && other.array == t.array)
        return UsageError("E0440", "--output " + text + ": another output goes there already");
    targets.push_back(std::move(t));
  }
  return targets;
}

Status SaveOutputs(const std::vector<OutputTarget>& targets, const std::vector<std::string>& names,
                   const std::vector<Value>& values) {
  std::vector<std::pair<std::string, training::NamedTensors>> archives;
  for (const OutputTarget& t : targets) {
    const Value& v = values[t.index];
    if (v.kind != Value::kTensor)
      return InvalidError("E0423", "output '" + names[t.index] + "' is not a tensor: it can't be saved as .npy");
    if (t.archive) {
      auto at = std::find_if(archives.begin(), archives.end(), [&](const auto& a) { return a.first == t.path; });
      if (at == archives.end()) at = archives.insert(at, {t.path, {}});
      at->second.emplace_back(t.array, v.tensor);
    } else if (t.path == "-") {
      const NpyImage image = EncodeNpy(v.tensor);
      HR_RETURN_IF_ERROR(WriteOut("-", {image.head, image.Body()}));
    } else {
      Status saved = WriteNpy(t.path, v.tensor);
      if (!saved.ok()) return WithFile(saved, t.path);
    }
  }
  for (const auto& [path, arrays] : archives) HR_RETURN_IF_ERROR(WriteNpz(path, arrays));
  return {};
}

}  // namespace headrace
