// Backward() as the registry's differentiator, and as the pass `backward` for pipelines.
#include <sstream>

#include "autodiff/backward.h"

namespace headrace::autodiff {
namespace {

// "A, B", "A B" or "A+B".
std::vector<Name> NamesIn(std::string text) {
  for (char& c : text)
    if (c == ',' || c == '+') c = ' ';
  std::vector<Name> out;
  std::stringstream words(text);
  for (std::string w; words >> w;) out.push_back(Name(w));
  return out;
}

std::vector<Name> FloatsAmong(const Sdfg& s, const std::vector<Name>& names) {
  std::vector<Name> out;
  for (Name n : names)
    if (const Container& c = s.Get(n); c.type.kind == ValueType::kTensor && (IsFloat(c.dtype) || IsComplex(c.dtype)))
      out.push_back(n);
  return out;
}

Status Bad(const std::string& option, const std::string& value, const std::string& expected) {
  Status s = UsageError("E0812", "backward: option " + option + " is '" + value + "'");
  Diagnostic d = s.diagnostics()[0];
  d.expected = expected;
  return Status(d);
}

Status ParseFlag(const std::string& option, const std::string& value, bool* out) {
  if (value != "true" && value != "false") return Bad(option, value, "true or false");
  *out = value == "true";
  return {};
}

Result<int64_t> ParseCount(const std::string& option, const std::string& value) {
  char* end = nullptr;
  errno = 0;
  const long long v = std::strtoll(value.c_str(), &end, 10);
  if (value.empty() || *end || errno || v < 0) return Bad(option, value, "a non-negative integer");
  return static_cast<int64_t>(v);
}

struct Request {
  std::vector<Name> outputs, inputs;
  Options options;
  bool forward = false;  // of two programs, the first
};

Result<Request> ParseOptions(const Program& p, const PassOptions& given) {
  Request q;
  const Sdfg& s = p.Entry();
  bool inputs = false;
  for (const auto& [option, value] : given) {
    if (option == "outputs") {
      q.outputs = value == "all" ? FloatsAmong(s, Outputs(p, s)) : NamesIn(value);
    } else if (option == "inputs") {
      inputs = true;
      q.inputs = value == "all" ? FloatsAmong(s, Inputs(p, s)) : NamesIn(value);
    } else if (option == "given") {
      if (value == "all") q.options.all_given = true;
      else q.options.given_gradients = NamesIn(value);
    } else if (option == "keep-outputs") {
      HR_RETURN_IF_ERROR(ParseFlag(option, value, &q.options.keep_outputs));
    } else if (option == "fuse") {
      HR_RETURN_IF_ERROR(ParseFlag(option, value, &q.options.fuse));
    } else if (option == "keep") {
      if (value == "solve") q.options.keep = Keep::kSolve;
      else if (value == "store-all") q.options.keep = Keep::kStoreAll;
      else if (value == "recompute-all") q.options.keep = Keep::kRecomputeAll;
      else return Bad(option, value, "solve, store-all or recompute-all");
    } else if (option == "separate") {
      if (value != "forward" && value != "backward") return Bad(option, value, "forward or backward");
      q.options.separate = true;
      q.forward = value == "forward";
    } else if (option == "store") {
      q.options.store = NamesIn(value);
    } else if (option == "recompute") {
      q.options.recompute = NamesIn(value);
    } else if (option == "memory-limit") {
      HR_ASSIGN_OR_RETURN(q.options.memory_limit, ParseCount(option, value));
    } else if (option == "sizes") {
      for (Name pair : NamesIn(value)) {
        const std::string text = pair.str();
        const size_t eq = text.find('=');
        if (eq == std::string::npos) return Bad(option, value, "\"N=32, M=4\"");
        HR_ASSIGN_OR_RETURN(int64_t v, ParseCount(option, text.substr(eq + 1)));
        q.options.sizes.emplace_back(Name(text.substr(0, eq)), v);
      }
    }
  }
  if (q.outputs.empty()) q.outputs = FloatsAmong(s, Outputs(p, s));
  if (!inputs) q.inputs = FloatsAmong(s, Inputs(p, s));
  return q;
}

}  // namespace

Status RegisterBackwardPass(Registry& r) {
  Pass pass;
  pass.name = "backward";
  pass.doc =
      "Reverse mode: the program also computes grad_X, the gradient of the sum of `outputs`, for every X of `inputs`; "
      "`given` outputs take their gradient as a parameter.";
  pass.options = {"outputs", "inputs", "given", "keep-outputs", "separate",     "fuse",
                  "keep",    "store",  "recompute", "memory-limit", "sizes"};
  pass.run = [](Program& p, const PassOptions& given, const Registry& registry) -> Result<bool> {
    HR_ASSIGN_OR_RETURN(Request q, ParseOptions(p, given));
    HR_ASSIGN_OR_RETURN(BackwardPrograms b, Backward(p, q.outputs, q.inputs, q.options, registry));
    p = std::move(q.forward ? b.forward : b.program);
    return true;
  };
  HR_RETURN_IF_ERROR(r.Add(Differentiator{"reverse", Backward, ""}));
  return r.Add(std::move(pass));
}

}  // namespace headrace::autodiff
