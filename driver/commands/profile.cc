#include "driver/commands/profile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "ir/text/origin_text.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string FirstLine(std::string text) {
  constexpr size_t kMost = 60;
  text.erase(0, text.find_first_not_of(" \n"));
  text = text.substr(0, text.find('\n'));
  return text.size() > kMost ? text.substr(0, kMost - 1) + "…" : text;
}

// Rows of the table, by what adds to their first column: those statements come from what they measure.
std::vector<ProfiledStatement> RowsOf(const Program& p) {
  std::vector<ProfiledStatement> rows;
  for (const auto& s : p.sdfgs) {
    const Name table = s->parameters.empty() ? Name() : s->parameters.back();
    ForEachBlock(*s, s->body, [&](BlockId b) {
      const auto* state = std::get_if<State>(&s->blocks[b].control);
      if (!state) return;
      for (size_t k = 2; k < state->statements.size(); ++k) {
        const Node& node = s->nodes[state->statements[k]];
        const auto* t = std::get_if<Tasklet>(&node.body);
        if (!t || t->target != table || t->index.size() != 2 || AsInt(t->index[1]) != 0) continue;
        const auto row = static_cast<size_t>(*AsInt(t->index[0]));
        if (row >= rows.size()) rows.resize(row + 1);
        PrintOptions plain;
        plain.origins = false;
        plain.max_constant_bytes = 64;
        rows[row].origin = node.origin;
        rows[row].sdfg = s->name.str();
        const auto* call = std::get_if<Nested>(&s->nodes[state->statements[k - 2]].body);
        if (call) rows[row].kernel = call->callee;
        rows[row].text = FirstLine(PrintNode(*s, state->statements[k - 2], plain));
      }
    });
  }
  return rows;
}

// The sums of rows and columns over the runs after the first; how many.
Result<int> SumUp(const Clocked& clocked, const NamedValues& inputs, const NamedSizes& symbols, double seconds, std::vector<double>* sums) {
  HR_RETURN_IF_ERROR(clocked.Run(inputs, symbols).status());
  const auto start = Clock::now();
  int runs = 0;
  while (runs < 3 || Since(start) < seconds) {
    if (Interrupted()) return InterruptedError();
    HR_ASSIGN_OR_RETURN(const std::vector<double> once, clocked.Run(inputs, symbols));
    for (size_t k = 0; k < once.size(); ++k) (*sums)[k] += once[k];
    ++runs;
  }
  return runs;
}

// How fast this machine does what has no dependencies: the least time of some runs of a small program.
Result<double> LeastSeconds(const Registry& r, const char* text, const CompileRequest& request, const NamedSizes& sizes) {
  HR_ASSIGN_OR_RETURN(Program p, ParseProgram(text));
  NamedValues values;
  HR_RETURN_IF_ERROR(FillInputs(p, 0, sizes, values, nullptr));
  CompileRequest plain;
  plain.backend = request.backend;
  plain.options = request.options;
  plain.options.implementations.clear();
  plain.options.progress = nullptr;
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Executable> e, CompileProgram(r, std::move(p), plain));
  double least = INFINITY;
  for (int k = 0; k < 8; ++k) {
    if (Interrupted()) return InterruptedError();
    const auto start = Clock::now();
    HR_RETURN_IF_ERROR(e->Run(values).status());
    if (k > 0) least = std::min(least, Since(start));
  }
  return least;
}

Status MeasureMachine(const Registry& r, const CompileRequest& request, ProgramProfile* out) {
  constexpr int64_t kElements = 1 << 24, kSize = 768;
  HR_ASSIGN_OR_RETURN(const double copy,
                      LeastSeconds(r, "sdfg copy(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] } }", request, {{"N", kElements}}));
  HR_ASSIGN_OR_RETURN(const double product,
                      LeastSeconds(r, "sdfg product(A: f32[N, N], B: f32[N, N], C: f32[N, N]) { C[i, j] = 0\nC[i, j] += A[i, k] * B[k, j] }",
                                   request, {{"N", kSize}}));
  out->copy_rate = 2.0 * sizeof(float) * kElements / copy;
  out->product_rate = 2.0 * kSize * kSize * kSize / product;
  return {};
}

std::string Cell(double value, double scale, const char* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, value / scale);
  return std::isfinite(value) && value > 0 ? text : "-";
}

}  // namespace

std::string TitleOf(const ProfiledStatement& s) {
  std::string text = s.origin.Label();
  if (text.empty() && s.origin.line() > 0) text = s.origin.file().str() + ":" + std::to_string(s.origin.line()) + ": " + s.text;
  if (text.empty()) text = s.text;
  return s.origin.op().empty() ? text : text + " (" + s.origin.op().str() + ")";
}

Result<Clocked> MakeClocked(const Registry& r, Program lowered, const CompileRequest& request) {
  HR_RETURN_IF_ERROR(RunPipeline(r, "profile", lowered));
  Clocked out;
  out.statements = RowsOf(lowered);
  HR_ASSIGN_OR_RETURN(const Backend* backend, BackendNamed(r, request.backend));
  HR_ASSIGN_OR_RETURN(out.executable_, backend->compile(lowered, request.options, r));
  if (!out.statements.empty()) out.table_ = lowered.Entry().parameters.back();
  return out;
}

Result<std::vector<double>> Clocked::Run(const NamedValues& inputs, const NamedSizes& symbols, std::vector<Value>* outputs) const {
  NamedValues values = inputs;
  const size_t cells = statements.size() * kColumns;
  if (cells > 0) {
    HR_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Create(DType::kF64, {static_cast<int64_t>(statements.size()), kColumns}));
    std::memset(zeros.data->data(), 0, static_cast<size_t>(zeros.bytes()));
    values.emplace_back(table_, Value(std::move(zeros)));
  }
  HR_ASSIGN_OR_RETURN(std::vector<Value> results, executable_->Run(values, symbols));
  std::vector<double> measured(cells);
  if (cells > 0) {
    std::memcpy(measured.data(), results.back().tensor.data->data(), cells * sizeof(double));
    results.pop_back();
  }
  if (outputs) *outputs = std::move(results);
  return measured;
}

Result<ProgramProfile> ProfileProgram(const Registry& r, const Program& p, const CompileRequest& request, const NamedValues& inputs,
                                      const NamedSizes& symbols, double seconds) {
  HR_ASSIGN_OR_RETURN(Program lowered, LowerProgram(r, p, request));
  HR_ASSIGN_OR_RETURN(const Clocked clocked, MakeClocked(r, std::move(lowered), request));
  ProgramProfile out;
  out.statements = clocked.statements;
  if (out.statements.empty()) return out;
  std::vector<double> sums(out.statements.size() * Clocked::kColumns, 0.0);
  HR_ASSIGN_OR_RETURN(out.runs, SumUp(clocked, inputs, symbols, seconds, &sums));
  const auto sum = [&](size_t row, int column) { return sums[row * Clocked::kColumns + static_cast<size_t>(column)] / out.runs; };
  if (request.backend != "interpreter") HR_RETURN_IF_ERROR(MeasureMachine(r, request, &out));
  for (size_t k = 0; k < out.statements.size(); ++k) {
    ProfiledStatement& s = out.statements[k];
    s.runs = sum(k, 0), s.seconds = sum(k, 1) * 1e-9, s.operations = sum(k, 2), s.bytes = sum(k, 3);
    const double least = std::fmax(s.operations / out.product_rate, s.bytes / out.copy_rate);  // NaN only where both are
    s.peak_share = out.copy_rate > 0 ? least / s.seconds : NAN;
  }
  std::stable_sort(out.statements.begin(), out.statements.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return out;
}

void PrintProfile(const ProgramProfile& p) {
  constexpr size_t kMost = 30;
  if (p.statements.empty()) return void(printf("\nprofile     the program has no statements\n"));
  double all = 0, rest = 0;
  for (const ProfiledStatement& s : p.statements) all += s.seconds;
  printf("\nprofile     %s in %zu statements, mean of %d runs with clocks", HumanSeconds(all).c_str(), p.statements.size(), p.runs);
  if (p.copy_rate > 0) printf("; peak: %.1f GB/s of a copy, %.1f GFLOP/s of a product", p.copy_rate * 1e-9, p.product_rate * 1e-9);
  printf("\n  share      time    runs    GB/s  GFLOP/s   peak  statement\n");
  for (size_t k = 0; k < p.statements.size(); ++k) {
    const ProfiledStatement& s = p.statements[k];
    if (k >= kMost) {
      rest += s.seconds;
      continue;
    }
    printf("%6.1f%% %9s %7s %7s %8s %6s  %s\n", 100 * s.seconds / all, HumanSeconds(s.seconds).c_str(), Cell(s.runs, 1, "%.4g").c_str(),
           Cell(s.bytes / s.seconds, 1e9, "%.1f").c_str(), Cell(s.operations / s.seconds, 1e9, "%.1f").c_str(),
           Cell(s.peak_share, 0.01, "%.0f%%").c_str(), TitleOf(s).c_str());
  }
  if (p.statements.size() > kMost) printf("%6.1f%% %9s  in %zu more\n", 100 * rest / all, HumanSeconds(rest).c_str(), p.statements.size() - kMost);
}

nlohmann::json ProfileJson(const ProgramProfile& p) {
  const auto number = [](double v) { return std::isfinite(v) ? nlohmann::json(v) : nlohmann::json(); };
  nlohmann::json j = {{"runs", p.runs}, {"copy_bytes_per_second", p.copy_rate}, {"product_operations_per_second", p.product_rate}};
  j["statements"] = nlohmann::json::array();
  for (const ProfiledStatement& s : p.statements) {
    nlohmann::json one = {{"sdfg", s.sdfg}, {"text", s.text}, {"runs", s.runs}, {"seconds", s.seconds}, {"operations", number(s.operations)},
                          {"bytes", number(s.bytes)}, {"peak_share", number(s.peak_share)}, {"origin", OriginText(s.origin)}};
    if (!s.origin.op().empty()) one["op"] = s.origin.op().str();
    for (const Origin::Source& from : s.origin.Sources()) one[from.gradients ? "gradient_of" : "from"].push_back(from.name.str());
    j["statements"].push_back(std::move(one));
  }
  return j;
}

}  // namespace headrace
