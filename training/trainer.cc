#include "training/trainer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>

#include "training/batch.h"
#include "training/checkpoint.h"
#include "training/columns.h"
#include "training/curve.h"
#include "training/settings.h"

namespace headrace::training {
namespace {

using Clock = std::chrono::steady_clock;
double Since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

Status Stopped() {
  Diagnostic d;
  d.kind = ErrorKind::kInterrupted, d.message = "training was interrupted";
  return Status(d);
}

Status CheckOptions(const TrainOptions& o) {
  if (!(o.rate > 0) || !std::isfinite(o.rate)) return UsageError("--lr must be a positive number");
  if (o.epochs < 1) return UsageError("--epochs must be 1 or more");
  if (o.batch < 1) return UsageError("--batch must be 1 or more");
  if (o.every < 0) return UsageError("--every must not be negative");
  if (o.epochs > INT64_MAX / 4 / o.batch) return UsageError("--epochs is too large");
  return CheckSchedule(o.schedule);
}

// That the trained model can be written shows before hours of training do.
Status ProbeOut(const std::string& out, const std::string& model) {
  struct stat a, b;
  const bool there = stat(out.c_str(), &a) == 0;
  if (there && S_ISDIR(a.st_mode)) return WithFile(UsageError("--out is a folder: it must be a file's name"), out);
  if (there && stat(model.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
    return WithFile(UsageError("--out is the model itself", "give the trained model a name of its own"), out);
  std::string probe = out + ".XXXXXX";
  const int fd = mkstemp(probe.data());
  if (fd < 0) {
    Diagnostic d;
    d.code = "E0933", d.file = out;
    d.message = std::string("the trained model could not be written here: ") + std::strerror(errno);
    return Status(d);
  }
  close(fd);
  unlink(probe.c_str());
  return {};
}

class Trainer {
 public:
  Trainer(const TrainOptions& o, const Registry& r, const Events& events)
      : o_(o), r_(r), events_(events), folder_(o.checkpoints), curves_(o.checkpoints) {}
  Result<TrainResult> Run();

 private:
  Status ReadData();
  Status Fresh();
  Status Resume(const Snapshot& s);
  Status CompileAll();
  Result<ImportedModel> Import(int64_t batch, bool inference) const;
  Result<std::vector<Column>> Columns(const NamedTensors& data, const std::string& file, const Program& p,
                                      const std::vector<Name>& inputs, Name target, int64_t batch, bool notes);
  Status AddStep(std::vector<Batch>* to, StepProgram p, int64_t size);
  Status AddEvaluation(int64_t size);
  Status Loop();
  Status Step(int64_t step);
  Status FinishEpoch();
  Status Validate(EpochResult* e);
  Status Save();
  Status Diverged(const std::string& what) const;
  Status Interrupt(bool save);
  Status WriteModel();

  void Note(const std::string& text) const {
    if (events_.note) events_.note(text);
  }
  bool Interrupted() const { return events_.interrupted && events_.interrupted(); }

  const TrainOptions& o_;
  const Registry& r_;
  const Events& events_;
  CheckpointFolder folder_;
  CurveFiles curves_;
  TrainResult result_;

  bool from_text_ = false;
  std::vector<std::string> input_names_;  // of the model
  Layout layout_;
  NamedTensors data_, validation_data_;
  StepProgram first_;  // for full batches, until it is compiled
  std::vector<Column> columns_, validation_;
  std::vector<Setting> settings_;
  State state_;
  std::vector<Batch> steps_, evaluations_;
  bool training_ = false;

  int64_t samples_ = 0, batch_ = 0, per_epoch_ = 0, total_ = 0;
  std::vector<int64_t> order_, in_order_;
  int64_t order_epoch_ = -1;
  // Where the run stands; in checkpoints.
  int64_t step_ = 0, epochs_ = 0;  // done
  double epoch_loss_ = 0;          // of the epoch so far, times samples
  double rate_ = 0;
  int64_t saved_ = -1;
  int64_t trained_ = 0;  // samples, since the start or resumption
  double seconds_ = 0;   // of steps
  Clock::time_point drawn_;
};

// ---- model and data ----

Result<ImportedModel> Trainer::Import(int64_t batch, bool inference) const {
  ImportOptions import;
  import.simplify = false;  // initializers stay themselves
  import.inference = inference;
  import.dims = o_.dims;
  if (batch == 0) {
    HR_ASSIGN_OR_RETURN(LoadedModel m, LoadModel(r_, o_.model, import));
    return std::move(m.model);
  }
  for (Name n : layout_.batch) import.dims.emplace_back(n.str(), batch);
  for (const auto& [n, v] : layout_.sizes) import.dims.emplace_back(n.str(), v);
  Result<LoadedModel> m = LoadModel(r_, o_.model, import);
  if (m.ok()) return std::move(m->model);
  if (m.status().kind() != ErrorKind::kUsage) return m.status();
  import.dims = o_.dims;  // a size that has no name stays a symbol
  HR_ASSIGN_OR_RETURN(LoadedModel symbolic, LoadModel(r_, o_.model, import));
  return std::move(symbolic.model);
}

Result<std::vector<Column>> Trainer::Columns(const NamedTensors& data, const std::string& file, const Program& p,
                                             const std::vector<Name>& inputs, Name target, int64_t batch, bool notes) {
  std::vector<std::string> said;
  std::vector<Column> out;
  const Sdfg& s = p.Entry();
  for (size_t i = 0; i < inputs.size(); ++i) {
    HR_ASSIGN_OR_RETURN(Column c, MakeColumn(data, file, input_names_[i], s.Get(inputs[i]), layout_.batch_dims[i],
                                             batch, 0, notes ? &said : nullptr));
    out.push_back(std::move(c));
  }
  if (!target.empty()) {
    HR_ASSIGN_OR_RETURN(Column c, MakeColumn(data, file, "target", s.Get(target), std::nullopt, batch,
                                             layout_.batch_dims[0], notes ? &said : nullptr));
    out.push_back(std::move(c));
  }
  HR_RETURN_IF_ERROR(CheckCounts(out, file));
  for (const auto& [name, t] : data)
    if (notes && std::none_of(out.begin(), out.end(), [&, n = name](const Column& c) { return c.name == n; }))
      said.push_back("array '" + name + "' is not used: the model has no such input");
  for (const std::string& line : said) Note("note: " + file + ": " + line);
  return out;
}

Status Trainer::ReadData() {
  ImportOptions import;
  import.simplify = false, import.dims = o_.dims;
  HR_ASSIGN_OR_RETURN(LoadedModel loaded, LoadModel(r_, o_.model, import));
  const ImportedModel& m = loaded.model;
  from_text_ = loaded.from_text;
  if (from_text_ && !o_.out.empty())
    return UnsupportedError("IR text has no place for trained parameters: --out can't be written",
                            "train the ONNX model, or leave --out away and take the checkpoints");
  for (Name n : Inputs(m.program, m.program.Entry())) input_names_.push_back(m.OriginalName(n));
  HR_ASSIGN_OR_RETURN(data_, ReadNpz(o_.data));
  if (!o_.validation.empty()) { HR_ASSIGN_OR_RETURN(validation_data_, ReadNpz(o_.validation)); }
  HR_ASSIGN_OR_RETURN(layout_, FitData(m, data_, o_.data));

  samples_ = layout_.samples;
  batch_ = std::min(o_.batch, samples_);
  if (layout_.fixed) {
    const std::string fixed = std::to_string(*layout_.fixed);
    if (o_.batch != *layout_.fixed)
      return UsageError("the model takes batches of " + fixed + " samples only",
                        "--batch " + fixed + ", or export the model with a symbolic batch dimension");
    if (samples_ % *layout_.fixed != 0)
      return WithFile(UsageError("the model takes batches of " + fixed + " samples only, and " +
                                     std::to_string(samples_) + " samples are no multiple of that",
                                 "leave out " + std::to_string(samples_ % *layout_.fixed) +
                                     " samples, or export the model with a symbolic batch dimension"),
                      o_.data);
  }
  if (batch_ < o_.batch) Note("note: there are only " + std::to_string(samples_) + " samples: each epoch is one step");
  per_epoch_ = (samples_ + batch_ - 1) / batch_;
  if (o_.epochs > INT64_MAX / per_epoch_) return UsageError("--epochs is too large");
  total_ = per_epoch_ * o_.epochs;

  HR_ASSIGN_OR_RETURN(ImportedModel sized, Import(batch_, false));
  HR_ASSIGN_OR_RETURN(first_, BuildStep(sized, o_.step, r_));
  for (const std::string& note : first_.notes) Note("note: " + note);
  HR_CHECK(first_.inputs.size() == input_names_.size(), "a step takes all of the model's inputs");
  HR_ASSIGN_OR_RETURN(columns_, Columns(data_, o_.data, first_.program, first_.inputs, first_.target, batch_, true));
  if (first_.classes > 0) HR_RETURN_IF_ERROR(CheckLabels(columns_.back(), first_.classes, o_.data));
  if (!o_.validation.empty()) {
    HR_ASSIGN_OR_RETURN(validation_, Columns(validation_data_, o_.validation, first_.program, first_.inputs,
                                             first_.target, batch_, true));
    if (first_.classes > 0) HR_RETURN_IF_ERROR(CheckLabels(validation_.back(), first_.classes, o_.validation));
    const int64_t count = validation_[0].data.shape[0];
    if (layout_.fixed && count % *layout_.fixed != 0)
      return WithFile(UsageError("the model takes batches of " + std::to_string(*layout_.fixed) +
                                     " samples only, and " + std::to_string(count) + " samples are no multiple of that",
                                 "leave some out, or export the model with a symbolic batch dimension"),
                      o_.validation);
    in_order_.resize(static_cast<size_t>(count));
    std::iota(in_order_.begin(), in_order_.end(), int64_t{0});
  }
  data_.clear(), validation_data_.clear();
  for (const Variable& v : first_.variables)
    if (v.kind == Variable::kParameter) result_.parameters += v.initial.elements();
  return {};
}

// ---- programs ----

Status Trainer::AddStep(std::vector<Batch>* to, StepProgram p, int64_t size) {
  CompileRequest request = o_.compile;
  // A step that is cut off would leave parameters of two steps: it runs to its end.
  request.options.cancelled = [this] { return !training_ && Interrupted(); };
  Batch::Ports ports{p.variables, p.rate, p.step, p.seed, p.loss, Name()};
  HR_ASSIGN_OR_RETURN(Batch b, Batch::Compile(r_, std::move(p.program), request, ports, state_, columns_, size));
  to->push_back(std::move(b));
  return {};
}

Status Trainer::AddEvaluation(int64_t size) {
  HR_ASSIGN_OR_RETURN(ImportedModel m, Import(size, true));
  HR_ASSIGN_OR_RETURN(EvaluationProgram p, BuildEvaluation(m, o_.step, r_));
  for (size_t i = 0; i < validation_.size(); ++i)
    validation_[i].parameter = i < p.inputs.size() ? p.inputs[i] : p.target;
  Batch::Ports ports{p.variables, Name(), Name(), p.seed, p.loss, p.hits};
  CompileRequest request = o_.compile;
  request.options.cancelled = events_.interrupted;
  HR_ASSIGN_OR_RETURN(Batch b, Batch::Compile(r_, std::move(p.program), request, ports, state_, validation_, size));
  evaluations_.push_back(std::move(b));
  return {};
}

Status Trainer::CompileAll() {
  const auto start = Clock::now();
  HR_RETURN_IF_ERROR(AddStep(&steps_, std::move(first_), batch_));
  first_ = {};
  if (const int64_t rest = samples_ % batch_; rest != 0 && !layout_.fixed) {
    if (Interrupted()) return Stopped();
    HR_ASSIGN_OR_RETURN(ImportedModel m, Import(rest, false));
    HR_ASSIGN_OR_RETURN(StepProgram p, BuildStep(m, o_.step, r_));
    for (size_t i = 0; i < columns_.size(); ++i) columns_[i].parameter = i < p.inputs.size() ? p.inputs[i] : p.target;
    HR_RETURN_IF_ERROR(AddStep(&steps_, std::move(p), rest));
  }
  const auto count = static_cast<int64_t>(in_order_.size());
  for (const int64_t size : {std::min(count, batch_), count % batch_}) {
    if (size == 0 || (!evaluations_.empty() && evaluations_[0].size == size)) continue;
    if (Interrupted()) return Stopped();
    HR_RETURN_IF_ERROR(AddEvaluation(size));
  }
  result_.compile_seconds = Since(start);
  return {};
}

// ---- checkpoints ----

Status Trainer::Fresh() {
  if (folder_.Steps().empty()) return curves_.Open(0);
  Diagnostic d;
  d.kind = ErrorKind::kUsage, d.code = "E0930", d.file = o_.checkpoints;
  d.message = "the folder holds the checkpoints of a run, the newest of step " + std::to_string(folder_.Steps().back());
  d.hint = "--resume goes on with it; a new run needs another folder";
  return Status(d);
}

Status Trainer::Resume(const Snapshot& s) {
  HR_RETURN_IF_ERROR(SameSettings(settings_, s.metadata, o_.checkpoints));
  auto number = [&](const char* key) {
    const auto it = s.metadata.find(key);
    return it == s.metadata.end() ? std::string() : it->second;
  };
  step_ = std::strtoll(number("step").c_str(), nullptr, 10);
  epochs_ = std::strtoll(number("epoch").c_str(), nullptr, 10);
  epoch_loss_ = std::strtod(number("epoch_loss").c_str(), nullptr);
  result_.loss = std::strtod(number("last_loss").c_str(), nullptr);
  rate_ = std::strtod(number("last_rate").c_str(), nullptr);
  auto foreign = [&](const std::string& why) {
    Diagnostic d;
    d.code = "E0934", d.file = o_.checkpoints;
    d.message = "the checkpoint of step " + std::to_string(step_) + " is not of this model: " + why;
    return Status(d);
  };
  if (step_ < 1 || epochs_ < 0 || epochs_ > step_ / per_epoch_ || step_ / per_epoch_ - epochs_ > 1)
    return foreign("it says that " + std::to_string(epochs_) + " epochs are done");
  if (step_ > total_)
    return UsageError("step " + std::to_string(step_) + " is done, --epochs " + std::to_string(o_.epochs) +
                      " ends at step " + std::to_string(total_));
  for (const Variable& v : state_.variables) {
    const auto it =
        std::find_if(s.tensors.begin(), s.tensors.end(), [&](const auto& t) { return t.first == v.original; });
    if (it == s.tensors.end()) return foreign("it lacks '" + v.original + "'");
    if (it->second.dtype != v.initial.dtype || it->second.shape != v.initial.shape)
      return foreign("'" + v.original + "' has another type or shape");
    std::memcpy(v.initial.data->data(), it->second.data->data(), static_cast<size_t>(v.initial.bytes()));
  }
  result_.resumed_at = saved_ = step_;
  std::vector<std::string> notes;
  if (step_ == (epochs_ + 1) * per_epoch_) {  // interrupted while it validated: the epoch's line may be there or not
    HR_RETURN_IF_ERROR(curves_.Open(step_ - 1, &notes));
    HR_RETURN_IF_ERROR(curves_.AddStep(step_, epochs_ + 1, rate_, result_.loss));
  } else {
    HR_RETURN_IF_ERROR(curves_.Open(step_, &notes));
  }
  for (const std::string& n : notes) Note("note: " + n);
  Note("resuming after step " + std::to_string(step_) + " of " + std::to_string(total_));
  return {};
}

Status Trainer::Diverged(const std::string& what) const {
  char rate[32];
  snprintf(rate, sizeof rate, "%g", rate_);
  Diagnostic d;
  d.code = "E0935";
  d.message = what + " at step " + std::to_string(step_) + " (epoch " + std::to_string((step_ - 1) / per_epoch_ + 1) +
              "), learning rate " + rate;
  d.hint = "a smaller --lr, --warmup STEPS or --clip-norm 1 often helps";
  if (saved_ > 0) d.hint += "; the checkpoint of step " + std::to_string(saved_) + " is from before";
  return Status(d);
}

Status Trainer::Save() {
  if (saved_ == step_ && epochs_ * per_epoch_ != step_) return {};
  Snapshot s;
  for (const Variable& v : state_.variables) {
    if (FirstNonFinite(v.initial)) return Diverged("parameters are no longer finite ('" + v.original + "')");
    s.tensors.emplace_back(v.original, v.initial);
  }
  for (const Setting& setting : settings_) s.metadata[setting.key] = setting.value;
  s.metadata["step"] = std::to_string(step_);
  s.metadata["epoch"] = std::to_string(epochs_);
  s.metadata["epoch_loss"] = Exact(epoch_loss_);
  s.metadata["last_loss"] = Exact(result_.loss);
  s.metadata["last_rate"] = Exact(rate_);
  HR_RETURN_IF_ERROR(curves_.Flush());
  HR_RETURN_IF_ERROR(folder_.Save(step_, s));
  saved_ = step_;
  return {};
}

Status Trainer::Interrupt(bool save) {
  if (save && step_ > 0) HR_RETURN_IF_ERROR(Save());
  const Status drawn = curves_.Draw();
  if (saved_ > 0)
    Note("stopped after step " + std::to_string(step_) + " of " + std::to_string(total_) + "; " + o_.checkpoints +
         " holds the checkpoint: the same command with --resume goes on");
  return drawn.ok() ? Stopped() : drawn;
}

// ---- the loop ----

Status Trainer::Step(int64_t step) {
  const int64_t epoch = (step - 1) / per_epoch_, begin = (step - 1) % per_epoch_ * batch_;
  if (order_epoch_ != epoch) {
    if (o_.shuffle) order_ = SampleOrder(o_.seed, epoch, samples_);
    else if (order_.empty()) order_.resize(static_cast<size_t>(samples_)), std::iota(order_.begin(), order_.end(), 0);
    order_epoch_ = epoch;
  }
  Batch& b = samples_ - begin < batch_ ? steps_.back() : steps_.front();
  rate_ = RateAt(o_.schedule, o_.rate, step, total_, per_epoch_);
  *state_.rate.as<double>() = rate_;
  *state_.step.as<int64_t>() = step;
  HR_RETURN_IF_ERROR(b.Run(order_, begin, true));
  step_ = step, trained_ += b.size;
  result_.loss = b.loss;
  epoch_loss_ += b.loss * static_cast<double>(b.size);
  HR_RETURN_IF_ERROR(curves_.AddStep(step, epoch + 1, rate_, b.loss));
  if (!std::isfinite(b.loss)) {
    HR_RETURN_IF_ERROR(curves_.Flush());
    HR_RETURN_IF_ERROR(curves_.Draw());
    return Diverged(std::isnan(b.loss) ? "the loss is not a number" : "the loss is infinite");
  }
  if (events_.step) events_.step({step, total_, epoch + 1, o_.epochs, trained_, b.loss, rate_});
  return {};
}

Status Trainer::Validate(EpochResult* e) {
  if (validation_.empty()) return {};
  const auto count = static_cast<int64_t>(in_order_.size());
  const Column& answers = validation_.back();
  double loss = 0;
  int64_t hits = 0;
  for (int64_t begin = 0; begin < count; begin += batch_) {
    if (Interrupted()) return Stopped();
    Batch& b = count - begin < evaluations_.front().size ? evaluations_.back() : evaluations_.front();
    HR_RETURN_IF_ERROR(b.Run(in_order_, begin, false));
    loss += b.loss * static_cast<double>(b.size);
    hits += b.hits;
  }
  e->validation_loss = loss / static_cast<double>(count);
  if (evaluations_[0].counts_hits())
    e->validation_accuracy = static_cast<double>(hits) / static_cast<double>(answers.data.elements());
  return {};
}

Status Trainer::FinishEpoch() {
  EpochResult e;
  e.epoch = epochs_ + 1, e.step = step_;
  e.loss = epoch_loss_ / static_cast<double>(samples_);
  HR_RETURN_IF_ERROR(Validate(&e));
  HR_RETURN_IF_ERROR(curves_.AddEpoch(e.epoch, e.step, e.loss, e.validation_loss ? &*e.validation_loss : nullptr,
                                      e.validation_accuracy ? &*e.validation_accuracy : nullptr));
  ++epochs_;
  epoch_loss_ = 0;
  result_.epochs.push_back(e);
  if (events_.epoch) events_.epoch(e);
  return {};
}

Status Trainer::Loop() {
  bool ended = step_ > 0 && step_ == (epochs_ + 1) * per_epoch_;  // a resumed run may have an epoch to finish
  while (ended || step_ < total_) {
    const auto start = Clock::now();
    while (!ended && step_ < total_) {
      if (Interrupted()) return Interrupt(true);
      HR_RETURN_IF_ERROR(Step(step_ + 1));
      ended = step_ % per_epoch_ == 0;
      if (!ended && o_.every > 0 && step_ % o_.every == 0) break;
    }
    seconds_ += Since(start);
    if (ended) {
      const Status finished = FinishEpoch();
      if (!finished.ok() && finished.kind() == ErrorKind::kInterrupted) return Interrupt(true);
      HR_RETURN_IF_ERROR(finished);
      if (o_.every == 0 || step_ % o_.every == 0 || step_ == total_) HR_RETURN_IF_ERROR(Save());
      // Drawing reads the whole curve: not after each of many short epochs.
      if (Since(drawn_) > 1) {
        HR_RETURN_IF_ERROR(curves_.Draw());
        drawn_ = Clock::now();
      }
      ended = false;
    } else {
      HR_RETURN_IF_ERROR(Save());
    }
  }
  return curves_.Draw();
}

Status Trainer::WriteModel() {
  if (o_.out.empty()) return {};
  const Importer* importer = r_.ImporterForFile(o_.model);
  if (!importer) importer = r_.FindImporter("onnx");  // as LoadModel picks it
  if (!importer || !importer->save)
    return UnsupportedError("models of this format can't be written: " + o_.checkpoints + " holds the parameters");
  SaveOptions save;
  save.inference = true;
  for (const Variable& v : state_.variables)
    if (v.kind != Variable::kOptimizer) save.constants.emplace_back(v.original, v.initial);
  return WithFile(importer->save(o_.model, o_.out, save), o_.out);
}

Result<TrainResult> Trainer::Run() {
  HR_RETURN_IF_ERROR(CheckOptions(o_));
  if (!o_.out.empty()) HR_RETURN_IF_ERROR(ProbeOut(o_.out, o_.model));
  HR_RETURN_IF_ERROR(ReadData());
  HR_RETURN_IF_ERROR(folder_.Prepare());
  HR_ASSIGN_OR_RETURN(settings_, SettingsOf(o_, columns_));
  HR_ASSIGN_OR_RETURN(state_, State::Make(first_.variables, o_.seed));
  if (o_.resume && !folder_.Steps().empty()) {
    std::vector<std::string> notes;
    HR_ASSIGN_OR_RETURN(Snapshot s, folder_.Latest(&notes));
    for (const std::string& n : notes) Note("warning: " + n);
    HR_RETURN_IF_ERROR(Resume(s));
  } else {
    if (o_.resume) Note("note: " + o_.checkpoints + " holds no checkpoint yet: training starts from the model");
    HR_RETURN_IF_ERROR(Fresh());
  }
  if (Interrupted()) return Stopped();
  HR_RETURN_IF_ERROR(CompileAll());

  training_ = true;
  HR_RETURN_IF_ERROR(Loop());
  HR_RETURN_IF_ERROR(WriteModel());
  result_.steps = step_;
  result_.train_seconds = seconds_;
  result_.samples_per_second = seconds_ > 0 ? static_cast<double>(trained_) / seconds_ : 0;
  return std::move(result_);
}

}  // namespace

Result<TrainResult> Train(const TrainOptions& o, const Registry& r, const Events& events) {
  return Trainer(o, r, events).Run();
}

}  // namespace headrace::training
