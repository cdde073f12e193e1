// headrace train: a model and data in, a trained model out.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "driver/commands/commands.h"
#include "training/trainer.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

struct TrainFlags {
  ModelFlags model;
  training::TrainOptions o;
  std::string betas = "0.9,0.999", clip_norm, memory_limit;
  bool no_shuffle = false;
};

std::string Short(double v) {
  char text[32];
  snprintf(text, sizeof text, "%.4g", v);
  return text;
}
std::string Percent(double v) {
  char text[32];
  snprintf(text, sizeof text, "%.2f %%", 100 * v);
  return text;
}
// 850, 12.3k, 4.56M
std::string Count(double v) {
  const char* unit = v < 1e4 ? "" : v < 1e7 ? "k" : "M";
  v /= v < 1e4 ? 1 : v < 1e7 ? 1e3 : 1e6;
  char text[32];
  snprintf(text, sizeof text, v < 100 && *unit ? "%.1f%s" : "%.0f%s", v, unit);
  return text;
}
// 0:07, 12:34, 1:02:03
std::string Duration(double seconds) {
  const auto s = static_cast<int64_t>(std::min(seconds, 3.6e8) + 0.5);
  char text[32];
  if (s < 3600) snprintf(text, sizeof text, "%d:%02d", static_cast<int>(s / 60), static_cast<int>(s % 60));
  else
    snprintf(text, sizeof text, "%lld:%02d:%02d", static_cast<long long>(s / 3600), static_cast<int>(s / 60 % 60),
             static_cast<int>(s % 60));
  return text;
}

// What is seen of a run while it goes: a bar on a terminal, or lines now and then.
class Display {
 public:
  explicit Display(const Output& out)
      : out_(out), bar_(out.progress == ProgressStyle::kBar), plain_(out.progress == ProgressStyle::kLines) {}

  void Step(const training::Progress& p) {
    if (!bar_ && !plain_) return;
    smooth_ =
        count_ == 0 ? p.loss : smooth_ + std::max(0.02, 1.0 / static_cast<double>(count_ + 1)) * (p.loss - smooth_);
    ++count_;
    const Clock::time_point now = Clock::now();
    if (count_ == 1) start_ = now, first_ = p;  // the first step also warms up
    const double wait = bar_ ? 0.1 : 3;
    if (std::chrono::duration<double>(now - shown_).count() < wait && p.step != p.steps) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    std::string text = "epoch " + std::to_string(p.epoch) + "/" + std::to_string(p.epochs) + " ";
    const double done = static_cast<double>(p.step) / static_cast<double>(p.steps);
    if (bar_) {
      constexpr int kWidth = 24;
      const int filled = static_cast<int>(kWidth * done);
      text += "[" + std::string(filled, '=') + std::string(kWidth - filled, ' ') + "]";
    }
    char percent[16];
    snprintf(percent, sizeof percent, "%3d %%", static_cast<int>(100 * done));
    text += std::string(percent) + "  loss " + Short(smooth_);
    if (p.step > first_.step && seconds > 0) {
      const double steps = static_cast<double>(p.step - first_.step);
      text += "  " + Count(static_cast<double>(p.samples - first_.samples) / seconds) + " samples/s  ETA " +
              Duration(seconds / steps * static_cast<double>(p.steps - p.step));
    }
    if (bar_) ProgressLine(text);
    else Note(out_, text);
  }

  void Epoch(const training::EpochResult& e, int64_t epochs) {
    const Clock::time_point now = Clock::now();
    const bool rare = epochs <= 100 || std::chrono::duration<double>(now - told_).count() > 1;
    if (!rare && e.epoch != epochs) return;
    told_ = now;
    Note(out_, "epoch " + std::to_string(e.epoch) + "/" + std::to_string(epochs) + ": " + Text(e));
  }

  static std::string Text(const training::EpochResult& e) {
    return "loss " + Short(e.loss) + (e.validation_loss ? ", validation loss " + Short(*e.validation_loss) : "") +
           (e.validation_accuracy ? ", accuracy " + Percent(*e.validation_accuracy) : "");
  }

 private:
  const Output& out_;
  bool bar_, plain_;
  double smooth_ = 0;
  int64_t count_ = 0;
  training::Progress first_;
  Clock::time_point start_, shown_ = Clock::now(), told_;
};

// What the optimizer or the schedule does not look at would be silently ignored.
Status CheckEffects(const CLI::App& app, const training::TrainOptions& o) {
  const std::string& kind = o.step.optimizer;
  const bool adam = kind == "adam" || kind == "adamw", step = o.schedule.kind == "step";
  HR_RETURN_IF_ERROR(NoEffect(app, "--momentum", kind == "momentum", "it is of --optimizer momentum, not of " + kind));
  HR_RETURN_IF_ERROR(NoEffect(app, "--betas", adam, "they are of --optimizer adam and adamw, not of " + kind));
  HR_RETURN_IF_ERROR(NoEffect(app, "--eps", adam, "it is of --optimizer adam and adamw, not of " + kind));
  HR_RETURN_IF_ERROR(
      NoEffect(app, "--step-epochs", step, "it is of --schedule step, not of --schedule " + o.schedule.kind));
  return NoEffect(app, "--gamma", step, "it is of --schedule step, not of --schedule " + o.schedule.kind);
}

// The program of a step is made while training; names in --impl are of the model.
Status CheckChoices(const TrainFlags& f, const Registry& r, const Common& c) {
  HR_RETURN_IF_ERROR(BackendNamed(r, f.model.backend).status());
  if (f.model.implementations.empty() && f.model.threads <= 1) return {};
  HR_ASSIGN_OR_RETURN(ImportOptions reading, f.model.Import());
  HR_ASSIGN_OR_RETURN(LoadedModel m, LoadModel(r, f.model.model, reading));
  return f.model.CheckChoices(r, m, c);
}

Status Parse(TrainFlags& f, const Common& c) {
  training::TrainOptions& o = f.o;
  o.model = f.model.model;
  if (o.model == "-")
    return UsageError("E0461", "train can't take its model from standard input: it is read for each batch size",
                      "give a file");
  o.shuffle = !f.no_shuffle;
  char* end = nullptr;
  o.step.beta1 = std::strtod(f.betas.c_str(), &end);
  if (end == f.betas.c_str() || *end != ',') return UsageError("E0443", "--betas wants two numbers, as 0.9,0.999");
  const char* second = end + 1;
  o.step.beta2 = std::strtod(second, &end);
  if (end == second || *end) return UsageError("E0443", "--betas wants two numbers, as 0.9,0.999");
  for (const double beta : {o.step.beta1, o.step.beta2})
    if (!(beta >= 0 && beta < 1)) return UsageError("E0443", "--betas " + f.betas + ": each is 0 or more and below 1", "as 0.9,0.999");
  if (!f.clip_norm.empty()) o.step.clip_norm = std::strtod(f.clip_norm.c_str(), nullptr);
  if (!f.memory_limit.empty()) {
    HR_ASSIGN_OR_RETURN(o.step.memory_limit, ParseBytes(f.memory_limit, "--memory-limit"));
  }
  HR_ASSIGN_OR_RETURN(o.compile, f.model.Compile(c));
  o.step.autocast = std::move(o.compile.autocast);  // of the forward pass, before it is differentiated
  o.compile.autocast.clear();
  HR_ASSIGN_OR_RETURN(NamedSizes sizes, f.model.Sizes());
  for (const auto& [n, v] : sizes) o.dims.emplace_back(n.str(), v);
  return {};
}

nlohmann::ordered_json ToJson(const TrainFlags& f, const training::TrainResult& t) {
  nlohmann::ordered_json j;
  j["model"] = f.model.model, j["backend"] = f.model.backend;
  j["parameters"] = t.parameters, j["steps"] = t.steps, j["resumed_at"] = t.resumed_at;
  j["compile_seconds"] = t.compile_seconds, j["train_seconds"] = t.train_seconds;
  j["samples_per_second"] = t.samples_per_second;
  j["loss"] = t.loss;
  j["epochs"] = nlohmann::ordered_json::array();
  for (const training::EpochResult& e : t.epochs) {
    nlohmann::ordered_json item = {{"epoch", e.epoch}, {"step", e.step}, {"loss", e.loss}};
    if (e.validation_loss) item["validation_loss"] = *e.validation_loss;
    if (e.validation_accuracy) item["validation_accuracy"] = *e.validation_accuracy;
    j["epochs"].push_back(std::move(item));
  }
  j["checkpoint"] = f.o.checkpoints;
  if (!f.o.out.empty()) j["out"] = f.o.out;
  return j;
}

int Run(TrainFlags& f, const CLI::App& app, const Common& c) {
  Status parsed = Parse(f, c);
  if (parsed.ok()) parsed = CheckEffects(app, f.o);
  if (!parsed.ok()) return Fail(c.out, parsed);
  Registry r;
  Status s = f.model.WantModel("trained");
  if (s.ok()) s = OpenRegistry(r, c);
  if (s.ok()) s = CheckChoices(f, r, c);
  if (!s.ok()) return Fail(c.out, s);

  Display display(c.out);
  training::Events events;
  events.step = [&](const training::Progress& p) { display.Step(p); };
  events.epoch = [&](const training::EpochResult& e) { display.Epoch(e, f.o.epochs); };
  events.note = [&](const std::string& text) { Note(c.out, text); };
  events.interrupted = Interrupted;
  Result<training::TrainResult> t = training::Train(f.o, r, events);
  EndProgress(c.out);
  if (!t.ok()) return Fail(c.out, t.status());
  if (c.out.json) {
    PrintJson(ToJson(f, *t));
  } else if (c.out.verbosity >= 0) {
    printf("%lld steps in %s, %s samples/s, compiled in %s\n", static_cast<long long>(t->steps - t->resumed_at),
           HumanSeconds(t->train_seconds).c_str(), Count(t->samples_per_second).c_str(),
           HumanSeconds(t->compile_seconds).c_str());
    if (!t->epochs.empty()) printf("%s\n", Display::Text(t->epochs.back()).c_str());
    printf("curve: %s/losses.svg\n", f.o.checkpoints.c_str());
    if (!f.o.out.empty()) printf("model: %s\n", f.o.out.c_str());
  }
  return kExitOk;
}

}  // namespace

Runner AddTrain(CLI::App& app, Common& c) {
  auto f = std::make_shared<TrainFlags>();
  training::TrainOptions& o = f->o;
  f->model.AddTo(app, ModelFlags::kModels);
  f->model.AddPipelineTo(app);
  const char* what = "What is trained";
  app.add_option("--data", o.data, "X.npz: one array per model input by name, samples first, and `target`")
      ->required()
      ->group(what);
  app.add_option("--validate", o.validation, "V.npz: loss and accuracy after each epoch")->group(what);
  app.add_option(
         "--loss", o.step.loss,
         "cross_entropy (targets are class numbers) or mse, of the model's only float output or KIND:OUTPUT; or the "
         "name of a scalar output")
      ->required()
      ->group(what);
  app.add_option("--out", o.out, "the trained model: MODEL with new initializers")->group(what);
  app.add_option("--checkpoint", o.checkpoints,
                 "folder for checkpoints and curves (losses.csv, epochs.csv, losses.svg)")
      ->required()
      ->group(what);
  app.add_option("--every", o.every, "steps between checkpoints; 0 = one after each epoch")
      ->capture_default_str()
      ->group(what);
  app.add_flag("--resume", o.resume,
               "go on after the folder's newest checkpoint, bit for bit; start anew if there is none")
      ->group(what);

  const char* how = "How";
  app.add_option("--epochs", o.epochs, "times that each sample is seen")->required()->group(how);
  app.add_option("--batch", o.batch, "samples per step; the last step of an epoch takes the rest")
      ->capture_default_str()
      ->group(how);
  app.add_option("--lr", o.rate, "learning rate")->required()->group(how);
  app.add_option("--optimizer", o.step.optimizer, "sgd, momentum, adam or adamw")->capture_default_str()->group(how);
  app.add_option("--momentum", o.step.momentum, "of momentum")->capture_default_str()->check(Number(true))->group(how);
  app.add_option("--betas", f->betas, "of adam and adamw")->capture_default_str()->group(how);
  app.add_option("--eps", o.step.epsilon, "of adam and adamw")->capture_default_str()->check(Number(true))->group(how);
  app.add_option("--weight-decay", o.step.weight_decay, "added to the gradient; by adamw, taken from the parameter")
      ->capture_default_str()
      ->check(Number(true))
      ->group(how);
  app.add_option("--clip-norm", f->clip_norm, "longest gradient, of all parameters together")->check(Number(false))->group(how);
  app.add_option("--schedule", o.schedule.kind,
                 "constant, cosine (to 0 at the end), or step (times --gamma every --step-epochs)")
      ->capture_default_str()
      ->group(how);
  app.add_option("--step-epochs", o.schedule.epochs, "of --schedule step")->capture_default_str()->group(how);
  app.add_option("--gamma", o.schedule.gamma, "of --schedule step")->capture_default_str()->group(how);
  app.add_option("--warmup", o.schedule.warmup, "steps of growing rate at the start")
      ->capture_default_str()
      ->group(how);
  app.add_option("--seed", o.seed, "of order and dropout")->capture_default_str()->check(Number(true))->group(how);
  app.add_option("--only", o.step.trained, "train these initializers only: NAME,…; * and ? match")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(what);
  app.add_option("--freeze", o.step.frozen, "leave these initializers as they are: NAME,…")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(what);
  app.add_flag("--no-shuffle", f->no_shuffle, "the samples in their order, in every epoch")->group(how);
  app.add_option("--memory-limit", f->memory_limit, "for what is kept and temporaries: 2GiB; recomputes to stay below")
      ->group(how);
  return [f, &app, &c] { return Run(*f, app, c); };
}

}  // namespace headrace
