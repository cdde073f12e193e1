#include "driver/tune/measure.h"

#include <algorithm>
#include <cmath>

#include "driver/commands/verify.h"
#include "driver/lower.h"
#include "ir/text/printer.h"

namespace headrace::tune {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kTurn = 0.01;    // seconds that a program runs before it is the other's turn
constexpr double kTrial = 0.4;    // and both together
constexpr int kFewestTurns = 4;
constexpr double kSlow = 0.1;     // a run that takes longer comes once in the even turns and once in the odd ones

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void Least(double* of, double seconds) { *of = *of == 0 ? seconds : std::min(*of, seconds); }

bool SameChoices(const Plan& a, const Plan& b) { return a.without == b.without && a.implementations == b.implementations; }

bool Agree(const std::vector<Value>& got, const std::vector<Value>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto [relative, absolute] = UsualTolerance(expected[i]);
    if (!Compare(got[i], expected[i], relative, absolute).ok) return false;
  }
  return true;
}

}  // namespace

CompileRequest Machine::RequestOf(const Plan& plan) const {
  CompileRequest request = m_.request;
  request.plan = plan;
  if (plan.threads > 0) request.options.threads = plan.threads;
  return request;
}

Result<Program> Machine::KernelsOf(const Plan& plan) {
  if (has_kernels_ && SameChoices(plan, whole_)) return kernels_;
  return LowerToKernels(m_.registry, m_.program, RequestOf(plan));
}

Result<bool> Machine::Differs(const Plan& plan) {
  if (plan.threads != whole_.threads) return true;
  HR_ASSIGN_OR_RETURN(const Program p, KernelsOf(plan));
  PrintOptions plain;
  plain.origins = false;
  plain.max_constant_bytes = 64;
  return Print(p, plain) != Print(kernels_, plain);
}

Result<Machine::Build> Machine::Make(const Plan& plan) {
  Build out;
  HR_ASSIGN_OR_RETURN(Program p, KernelsOf(plan));
  std::map<Name, std::string> keys;
  for (const auto& s : p.sdfgs)
    if (s->kernel) keys[s->name] = KernelKey(*s);
  CompileRequest request = RequestOf(plan);
  request.plan.without.push_back("share-kernels");  // each is measured by itself
  HR_ASSIGN_OR_RETURN(p, ScheduleKernels(m_.registry, std::move(p), request));
  HR_ASSIGN_OR_RETURN(out.clocked, MakeClocked(m_.registry, std::move(p), request));
  for (const ProfiledStatement& row : out.clocked.statements) {
    const auto it = keys.find(row.kernel);
    out.keys.push_back(it == keys.end() ? "" : it->second);
    if (it != keys.end()) names_.emplace(it->second, TitleOf(row));
  }
  return out;
}

Result<double> Machine::Run(Build& b, size_t half, bool reference, Trial* t, std::vector<Value>* outputs) {
  const auto start = Clock::now();
  HR_ASSIGN_OR_RETURN(const std::vector<double> table, b.clocked.Run(m_.inputs, m_.symbols, outputs));
  const double seconds = Since(start);
  if (!t) return seconds;
  const auto least = [&](Pair* p, double s) { Least(reference ? &p->reference[half] : &p->tried[half], s); };
  least(&t->whole, seconds);
  std::map<std::string, double> kernels;
  for (size_t row = 0; row < b.keys.size(); ++row)
    if (!b.keys[row].empty()) kernels[b.keys[row]] += 1e-9 * table[row * Clocked::kColumns + 1];
  for (const auto& [key, s] : kernels) least(&t->kernels[key], s);
  return seconds;
}

Status Machine::SetReference(const Plan& plan) {
  HR_ASSIGN_OR_RETURN(Program p, KernelsOf(plan));
  kernels_ = std::move(p), whole_ = plan, has_kernels_ = true;
  by_key_.clear();
  for (const auto& s : kernels_.sdfgs)
    if (s->kernel) by_key_[KernelKey(*s)] = s;
  HR_ASSIGN_OR_RETURN(reference_, Make(plan));
  std::vector<Value> again;
  outputs_.clear();
  HR_RETURN_IF_ERROR(Run(reference_, 0, true, nullptr, &outputs_).status());
  Trial t;
  HR_ASSIGN_OR_RETURN(reference_.seconds, Run(reference_, 0, true, &t, &again));
  if (!Agree(again, outputs_)) outputs_.clear();  // random ones
  for (double spent = 0; spent < kTrial / 4 && !m_.interrupted();) {
    HR_ASSIGN_OR_RETURN(const double seconds, Run(reference_, 0, true, &t));
    spent += seconds;
  }
  reference_.seconds = t.whole.reference[0];
  seconds_.clear();
  for (const auto& [key, pair] : t.kernels) seconds_[key] = pair.reference[0];
  return {};
}

Result<std::map<std::string, double>> Machine::KernelSeconds() { return seconds_; }

std::string Machine::NameOf(const std::string& key) const {
  const auto it = names_.find(key);
  return it == names_.end() ? key : it->second;
}

Result<std::string> Machine::Schedule(const std::string& key, const Plan::Numbers& numbers) {
  Program alone;
  alone.sdfgs.push_back(by_key_.at(key)), alone.entry = alone.sdfgs[0]->name;
  CompileRequest request = m_.request;
  if (!numbers.empty()) request.plan.kernels.push_back({key, numbers, ""});
  HR_ASSIGN_OR_RETURN(const Program scheduled, OnlySchedule(m_.registry, std::move(alone), request));
  PrintOptions plain;
  plain.origins = false;
  return Print(scheduled.Entry(), plain);
}

Status Machine::CheckValues(const std::vector<Value>& outputs, const Plan& plan) const {
  if (outputs_.empty() || Agree(outputs, outputs_)) return {};
  Diagnostic d;
  d.kind = ErrorKind::kMismatch;
  d.code = "E0469";
  d.message = "the program gives other values under a plan";
  d.got = "with the plan:\n" + Print(plan);
  d.expected = "the values of the program without it";
  d.hint = "this is a bug in headrace; please report it with the model and the plan";
  return Status(d);
}

Result<Trial> Machine::Try(const Plan& plan, int times) {
  HR_ASSIGN_OR_RETURN(Build tried, Make(plan));
  std::vector<Value> outputs;
  HR_ASSIGN_OR_RETURN(tried.seconds, Run(tried, 0, false, nullptr, &outputs));
  HR_RETURN_IF_ERROR(CheckValues(outputs, plan));
  Trial t;
  const auto start = Clock::now();
  const int turns = reference_.seconds > kSlow ? 2 : kFewestTurns;
  for (int turn = 0; turn < times * turns || Since(start) < times * kTrial; ++turn)
    for (const bool reference : {true, false}) {
      const auto turn_start = Clock::now();
      do HR_RETURN_IF_ERROR(Run(reference ? reference_ : tried, static_cast<size_t>(turn % 2), reference, &t).status());
      while (Since(turn_start) < kTurn);
    }
  std::map<std::string, Pair> both;
  for (const auto& [key, p] : t.kernels)
    if (p.Reference() > 0 && p.Tried() > 0) both[key] = p;
  t.kernels = std::move(both);
  return t;
}

bool Machine::Stop(double share) {
  stopped_ |= m_.interrupted() || Clock::now() >= m_.until;
  return stopped_ || Clock::now() - m_.start >= share * (m_.until - m_.start);
}

bool Machine::Finish() {
  stopped_ = true;
  const bool told = m_.interrupted();
  m_.goes_on();
  return told;
}

}  // namespace headrace::tune
