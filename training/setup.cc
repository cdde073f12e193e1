#include "training/setup.h"

#include <algorithm>
#include <climits>

namespace headrace::training {
namespace {

ImportOptions Options(const TrainOptions& o, bool inference) {
  ImportOptions import;
  import.simplify = false;  // initializers stay themselves
  import.inference = inference;
  import.dims = o.dims;
  return import;
}

class Reader {
 public:
  Reader(const TrainOptions& o, const Registry& r, const std::function<void(const std::string&)>& note)
      : o_(o), r_(r), note_(note) {}

  Result<Setup> Run() {
    NamedTensors data;
    HR_RETURN_IF_ERROR(Fit(&data));
    HR_RETURN_IF_ERROR(Count());
    HR_ASSIGN_OR_RETURN(ImportedModel sized, ImportSized(o_, r_, out_.layout, out_.batch, false));
    HR_ASSIGN_OR_RETURN(out_.first, BuildStep(sized, o_.step, r_));
    for (const std::string& note : out_.first.notes) Note("note: " + note);
    HR_CHECK(out_.first.inputs.size() == names_.size(), "a step takes all of the model's inputs");
    HR_ASSIGN_OR_RETURN(out_.columns, Columns(data, o_.data));
    if (!o_.validation.empty()) {
      HR_ASSIGN_OR_RETURN(NamedTensors held_out, ReadNpz(o_.validation));
      HR_ASSIGN_OR_RETURN(out_.validation, Columns(held_out, o_.validation));
      const int64_t count = out_.validation[0].data.shape[0];
      HR_RETURN_IF_ERROR(Multiple(count, o_.validation, "leave some out"));
    }
    return std::move(out_);
  }

 private:
  // The model's inputs, and where their samples stand.
  Status Fit(NamedTensors* data) {
    HR_ASSIGN_OR_RETURN(LoadedModel loaded, LoadModel(r_, o_.model, Options(o_, false)));
    const ImportedModel& m = loaded.model;
    if (loaded.from_text && !o_.out.empty())
      return UnsupportedError("E0943", "IR text has no place for trained parameters: --out can't be written",
                              "train the ONNX model, or leave --out away and take the checkpoints");
    for (Name n : Inputs(m.program, m.program.Entry())) names_.push_back(m.OriginalName(n));
    HR_ASSIGN_OR_RETURN(*data, ReadNpz(o_.data));
    HR_ASSIGN_OR_RETURN(out_.layout, FitData(m, *data, o_.data));
    return {};
  }

  Status Count() {
    out_.samples = out_.layout.samples;
    out_.batch = std::min(o_.batch, out_.samples);
    if (out_.layout.fixed) {
      const std::string fixed = std::to_string(*out_.layout.fixed);
      if (o_.batch != *out_.layout.fixed)
        return UsageError("E0938", "the model takes batches of " + fixed + " samples only",
                          "--batch " + fixed + ", or export the model with a symbolic batch dimension");
      HR_RETURN_IF_ERROR(Multiple(out_.samples, o_.data,
                                  "leave out " + std::to_string(out_.samples % *out_.layout.fixed) + " samples"));
    }
    if (out_.batch < o_.batch)
      Note("note: there " +
           std::string(out_.samples == 1 ? "is only 1 sample"
                                         : "are only " + std::to_string(out_.samples) + " samples") +
           ": each epoch is one step");
    out_.per_epoch = (out_.samples + out_.batch - 1) / out_.batch;
    if (o_.epochs > INT64_MAX / out_.per_epoch) return UsageError("E0942", "--epochs is too large");
    out_.total = out_.per_epoch * o_.epochs;
    return {};
  }

  Status Multiple(int64_t count, const std::string& file, const std::string& hint) const {
    if (!out_.layout.fixed || count % *out_.layout.fixed == 0) return {};
    return WithFile(UsageError("E0938", "the model takes batches of " + std::to_string(*out_.layout.fixed) +
                                   " samples only, and " + std::to_string(count) + " samples are no multiple of that",
                               hint + ", or export the model with a symbolic batch dimension"),
                    file);
  }

  Result<std::vector<Column>> Columns(const NamedTensors& data, const std::string& file) const {
    std::vector<std::string> said;
    std::vector<Column> out;
    const Sdfg& s = out_.first.program.Entry();
    for (size_t i = 0; i < names_.size(); ++i) {
      HR_ASSIGN_OR_RETURN(Column c, MakeColumn(data, file, names_[i], s.Get(out_.first.inputs[i]),
                                               out_.layout.batch_dims[i], out_.batch, 0, &said));
      out.push_back(std::move(c));
    }
    if (const Name target = out_.first.target; !target.empty()) {
      HR_ASSIGN_OR_RETURN(Column c, MakeColumn(data, file, "target", s.Get(target), std::nullopt, out_.batch,
                                               out_.layout.batch_dims[0], &said));
      out.push_back(std::move(c));
    }
    HR_RETURN_IF_ERROR(CheckCounts(out, file));
    for (const auto& [name, t] : data)
      if (std::none_of(out.begin(), out.end(), [&, n = name](const Column& c) { return c.name == n; }))
        said.push_back("array '" + name + "' is not used: the model has no such input");
    for (const std::string& line : said) Note("note: " + file + ": " + line);
    if (out_.first.classes > 0) HR_RETURN_IF_ERROR(CheckLabels(out.back(), out_.first.classes, file));
    return out;
  }

  void Note(const std::string& text) const {
    if (note_) note_(text);
  }

  const TrainOptions& o_;
  const Registry& r_;
  const std::function<void(const std::string&)>& note_;
  std::vector<std::string> names_;  // of the model's inputs
  Setup out_;
};

}  // namespace

Result<ImportedModel> ImportSized(const TrainOptions& o, const Registry& r, const Layout& layout, int64_t batch,
                                  bool inference) {
  ImportOptions import = Options(o, inference);
  for (Name n : layout.batch) import.dims.emplace_back(n.str(), batch);
  for (const auto& [n, v] : layout.sizes) import.dims.emplace_back(n.str(), v);
  Result<LoadedModel> m = LoadModel(r, o.model, import);
  if (m.ok()) return std::move(m->model);
  if (m.status().kind() != ErrorKind::kUsage) return m.status();
  HR_ASSIGN_OR_RETURN(LoadedModel symbolic, LoadModel(r, o.model, Options(o, inference)));  // a size has no name
  return std::move(symbolic.model);
}

Result<Setup> ReadSetup(const TrainOptions& o, const Registry& r, const std::function<void(const std::string&)>& note) {
  return Reader(o, r, note).Run();
}

}  // namespace headrace::training
