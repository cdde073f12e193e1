#include "training/trainer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
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
#include "training/curve.h"
#include "training/settings.h"
#include "training/setup.h"

namespace headrace::training {
namespace {

using Clock = std::chrono::steady_clock;
double Since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

Status Stopped() {
  Diagnostic d;
  d.kind = ErrorKind::kInterrupted, d.code = "E0946", d.message = "training was interrupted";
  return Status(d);
}

Status CheckOptions(const TrainOptions& o) {
  if (!(o.rate >= 0) || !std::isfinite(o.rate)) return UsageError("E0942", "--lr must be 0 or a positive number");
  if (o.epochs < 1) return UsageError("E0942", "--epochs must be 1 or more");
  if (o.batch < 1) return UsageError("E0942", "--batch must be 1 or more");
  if (o.every < 0) return UsageError("E0942", "--every must not be negative");
  if (o.epochs > INT64_MAX / 4 / o.batch) return UsageError("E0942", "--epochs is too large");
  return CheckSchedule(o.schedule);
}

bool SameFile(const struct stat& a, const std::string& path) {
  struct stat b;
  return stat(path.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// That the trained model can be written shows before hours of training do.
Status ProbeOut(const TrainOptions& o) {
  const std::string& out = o.out;
  if (struct stat there; stat(out.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) return WithFile(UsageError("E0944",
                                                           "--out is a folder: it must be a file's name"), out);
    if (!S_ISREG(there.st_mode)) return WithFile(UsageError("E0944", "--out is not a regular file"), out);
    if (SameFile(there, o.model))
      return WithFile(UsageError("E0944",
                                 "--out is the model itself", "give the trained model a name of its own"), out);
    if (SameFile(there, o.data) || SameFile(there, o.validation))
      return WithFile(UsageError("E0944", "--out is the data itself", "give the trained model a name of its own"), out);
  }
  const std::string probe = out + ".tmp" + std::to_string(getpid());  // as the model's own temporary file
  unlink(probe.c_str());
  const int fd = open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
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
  Status Fresh();
  Status Resume(const Snapshot& s);
  Status CompileAll();
  Status AddStep(std::vector<Batch>* to, StepProgram p, int64_t size);
  Status AddEvaluation(int64_t size);
  Status Loop();
  Status Step(int64_t step);
  Status Remember();
  Status CutOff();
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

  Setup in_;
  std::vector<Setting> settings_;
  State state_;
  std::vector<Batch> steps_, evaluations_;
  bool training_ = false;
  // A step that is cut off leaves parameters of two steps.
  std::atomic<bool> may_cut_{false};  // what they were before it is known
  std::vector<Tensor> before_;        // of long steps, by variable; otherwise a checkpoint has them
  double step_seconds_ = 0;           // of the last step

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

// ---- programs ----

Status Trainer::AddStep(std::vector<Batch>* to, StepProgram p, int64_t size) {
  CompileRequest request = o_.compile;
  request.options.cancelled = [this] { return (!training_ || may_cut_) && Interrupted(); };
  Batch::Ports ports{p.variables, p.rate, p.step, p.seed, p.loss, Name()};
  HR_ASSIGN_OR_RETURN(Batch b, Batch::Compile(r_, std::move(p.program), request, ports, state_, in_.columns, size));
  to->push_back(std::move(b));
  return {};
}

Status Trainer::AddEvaluation(int64_t size) {
  HR_ASSIGN_OR_RETURN(ImportedModel m, ImportSized(o_, r_, in_.layout, size, true));
  HR_ASSIGN_OR_RETURN(EvaluationProgram p, BuildEvaluation(m, o_.step, r_));
  for (size_t i = 0; i < in_.validation.size(); ++i)
    in_.validation[i].parameter = i < p.inputs.size() ? p.inputs[i] : p.target;
  Batch::Ports ports{p.variables, Name(), Name(), p.seed, p.loss, p.hits};
  CompileRequest request = o_.compile;
  request.options.cancelled = events_.interrupted;
  HR_ASSIGN_OR_RETURN(Batch b, Batch::Compile(r_, std::move(p.program), request, ports, state_, in_.validation, size));
  evaluations_.push_back(std::move(b));
  return {};
}

Status Trainer::CompileAll() {
  const auto start = Clock::now();
  HR_RETURN_IF_ERROR(AddStep(&steps_, std::move(in_.first), in_.batch));
  in_.first = {};
  if (const int64_t rest = in_.samples % in_.batch; rest != 0 && !in_.layout.fixed) {
    if (Interrupted()) return Stopped();
    HR_ASSIGN_OR_RETURN(ImportedModel m, ImportSized(o_, r_, in_.layout, rest, false));
    HR_ASSIGN_OR_RETURN(StepProgram p, BuildStep(m, o_.step, r_));
    for (size_t i = 0; i < in_.columns.size(); ++i)
      in_.columns[i].parameter = i < p.inputs.size() ? p.inputs[i] : p.target;
    HR_RETURN_IF_ERROR(AddStep(&steps_, std::move(p), rest));
  }
  const auto count = static_cast<int64_t>(in_order_.size());
  for (const int64_t size : {std::min(count, in_.batch), count % in_.batch}) {
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
  if (step_ < 1 || epochs_ < 0 || epochs_ > step_ / in_.per_epoch || step_ / in_.per_epoch - epochs_ > 1)
    return foreign("it says that " + std::to_string(epochs_) + " epochs are done");
  if (step_ > in_.total)
    return UsageError("E0945", "step " + std::to_string(step_) + " is done, --epochs " + std::to_string(o_.epochs) +
                      " ends at step " + std::to_string(in_.total));
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
  if (step_ == (epochs_ + 1) * in_.per_epoch) {  // interrupted while it validated: the epoch's line may be there or not
    HR_RETURN_IF_ERROR(curves_.Open(step_ - 1, &notes));
    HR_RETURN_IF_ERROR(curves_.AddStep(step_, epochs_ + 1, rate_, result_.loss));
  } else {
    HR_RETURN_IF_ERROR(curves_.Open(step_, &notes));
  }
  for (const std::string& n : notes) Note("note: " + n);
  Note("resuming after step " + std::to_string(step_) + " of " + std::to_string(in_.total));
  return {};
}

Status Trainer::Diverged(const std::string& what) const {
  char rate[32];
  snprintf(rate, sizeof rate, "%g", rate_);
  Diagnostic d;
  d.code = "E0935";
  d.message = what + " at step " + std::to_string(step_) + " (epoch " +
              std::to_string((step_ - 1) / in_.per_epoch + 1) + "), learning rate " + rate;
  d.hint = "a smaller --lr, --warmup STEPS or --clip-norm 1 often helps";
  if (saved_ > 0) d.hint += "; the checkpoint of step " + std::to_string(saved_) + " is from before";
  return Status(d);
}

Status Trainer::Save() {
  if (saved_ == step_ && epochs_ * in_.per_epoch != step_) return {};
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
    Note("stopped after step " + std::to_string(step_) + " of " + std::to_string(in_.total) + "; " + o_.checkpoints +
         " holds the checkpoint: the same command with --resume goes on");
  return drawn.ok() ? Stopped() : drawn;
}

// ---- the loop ----

Status Trainer::Step(int64_t step) {
  const int64_t epoch = (step - 1) / in_.per_epoch, begin = (step - 1) % in_.per_epoch * in_.batch;
  if (order_epoch_ != epoch) {
    if (o_.shuffle) order_ = SampleOrder(o_.seed, epoch, in_.samples);
    else if (order_.empty())
      order_.resize(static_cast<size_t>(in_.samples)), std::iota(order_.begin(), order_.end(), 0);
    order_epoch_ = epoch;
  }
  Batch& b = in_.samples - begin < in_.batch ? steps_.back() : steps_.front();
  const double rate = RateAt(o_.schedule, o_.rate, step, in_.total, in_.per_epoch);
  *state_.rate.as<double>() = rate;
  *state_.step.as<int64_t>() = step;
  HR_RETURN_IF_ERROR(Remember());
  const auto start = Clock::now();
  HR_RETURN_IF_ERROR(b.Run(order_, begin, true));
  step_seconds_ = Since(start);
  step_ = step, rate_ = rate, trained_ += b.size;
  result_.loss = b.loss;
  epoch_loss_ += b.loss * static_cast<double>(b.size);
  HR_RETURN_IF_ERROR(curves_.AddStep(step, epoch + 1, rate_, b.loss));
  if (!std::isfinite(b.loss)) {
    HR_RETURN_IF_ERROR(curves_.Flush());
    HR_RETURN_IF_ERROR(curves_.Draw());
    return Diverged(std::isnan(b.loss) ? "the loss is not a number" : "the loss is infinite");
  }
  if (events_.step) events_.step({step, in_.total, epoch + 1, o_.epochs, trained_, b.loss, rate_});
  return {};
}

// Who interrupts a step of minutes does not wait for its end, and loses nothing: before it, parameters are copied.
Status Trainer::Remember() {
  constexpr double kLong = 0.25;  // seconds
  const bool copy = step_seconds_ > kLong && step_ != saved_;
  if (copy && before_.empty()) {
    for (const Variable& v : state_.variables) {
      HR_ASSIGN_OR_RETURN(Tensor t, Tensor::Create(v.initial.dtype, v.initial.shape));
      before_.push_back(std::move(t));
    }
  }
  for (size_t i = 0; copy && i < before_.size(); ++i)
    std::memcpy(before_[i].data->data(), state_.variables[i].initial.data->data(),
                static_cast<size_t>(before_[i].bytes()));
  may_cut_ = copy || step_ == 0 || step_ == saved_;
  return {};
}

Status Trainer::CutOff() {
  if (step_ == 0 || step_ == saved_) return Interrupt(false);
  for (size_t i = 0; i < before_.size(); ++i)
    std::memcpy(state_.variables[i].initial.data->data(), before_[i].data->data(),
                static_cast<size_t>(before_[i].bytes()));
  return Interrupt(true);
}

Status Trainer::Validate(EpochResult* e) {
  if (in_.validation.empty()) return {};
  const auto count = static_cast<int64_t>(in_order_.size());
  const Column& answers = in_.validation.back();
  double loss = 0;
  int64_t hits = 0;
  for (int64_t begin = 0; begin < count; begin += in_.batch) {
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
  e.loss = epoch_loss_ / static_cast<double>(in_.samples);
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
  bool ended = step_ > 0 && step_ == (epochs_ + 1) * in_.per_epoch;  // a resumed run may have an epoch to finish
  while (ended || step_ < in_.total) {
    const auto start = Clock::now();
    while (!ended && step_ < in_.total) {
      if (Interrupted()) return Interrupt(true);
      const Status done = Step(step_ + 1);
      if (!done.ok()) return done.kind() == ErrorKind::kInterrupted ? CutOff() : done;
      ended = step_ % in_.per_epoch == 0;
      if (!ended && o_.every > 0 && step_ % o_.every == 0) break;
    }
    seconds_ += Since(start);
    if (ended) {
      const Status finished = FinishEpoch();
      if (!finished.ok() && finished.kind() == ErrorKind::kInterrupted) return Interrupt(true);
      HR_RETURN_IF_ERROR(finished);
      if (o_.every == 0 || step_ % o_.every == 0 || step_ == in_.total) HR_RETURN_IF_ERROR(Save());
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
    return UnsupportedError("E0943",
                            "models of this format can't be written: " + o_.checkpoints + " holds the parameters");
  SaveOptions save;
  save.inference = true;
  for (const Variable& v : state_.variables)
    if (v.kind != Variable::kOptimizer) save.constants.emplace_back(v.original, v.initial);
  return WithFile(importer->save(o_.model, o_.out, save), o_.out);
}

Result<TrainResult> Trainer::Run() {
  HR_RETURN_IF_ERROR(CheckOptions(o_));
  // The folder of checkpoints, which is made only when all else is right, may be its place too.
  const bool within = o_.out.compare(0, o_.checkpoints.size() + 1, o_.checkpoints + "/") == 0;
  if (!o_.out.empty() && !within) HR_RETURN_IF_ERROR(ProbeOut(o_));
  HR_ASSIGN_OR_RETURN(in_, ReadSetup(o_, r_, events_.note));
  if (!in_.validation.empty()) {
    in_order_.resize(static_cast<size_t>(in_.validation[0].data.shape[0]));
    std::iota(in_order_.begin(), in_order_.end(), int64_t{0});
  }
  for (const Variable& v : in_.first.variables)
    if (v.kind == Variable::kParameter) result_.parameters += v.initial.elements();
  HR_RETURN_IF_ERROR(folder_.Prepare());
  if (!o_.out.empty() && within) HR_RETURN_IF_ERROR(ProbeOut(o_));
  HR_ASSIGN_OR_RETURN(settings_, SettingsOf(o_, in_.columns));
  HR_ASSIGN_OR_RETURN(state_, State::Make(in_.first.variables, o_.seed));
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
  if (const Variable* taken = state_.Find(kTakenSteps); taken && taken->initial.GetInt(0) < step_)
    Note("note: gradients overflowed f16 in " + std::to_string(step_ - taken->initial.GetInt(0)) + " of " + std::to_string(step_) +
         " steps, which were left out, as loss scaling has it");
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
