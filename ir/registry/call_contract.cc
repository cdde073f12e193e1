#include "ir/registry/call_contract.h"

#include <algorithm>
#include <exception>

#include "ir/registry/plugin_bridge.h"
#include "ir/text/parser.h"

namespace headrace {
namespace {

void Append(void* ctx, const char* text) { static_cast<std::string*>(ctx)->append(text ? text : ""); }

// What a plugin's function throws must not leave it.
template <typename Call>
int32_t Guarded(std::string* error, Call&& call) {
  try {
    return call();
  } catch (const std::exception& e) {
    *error = std::string("it threw an exception: ") + e.what();
  } catch (...) {
    *error = "it threw an exception";
  }
  return -1;
}

}  // namespace

std::string EpiloguePort(size_t number) { return "e" + std::to_string(number); }

const ExternalFunction* FunctionOf(const Registry& r, const Library& l) {
  return l.domain == Name("call") ? r.FindFunction(l.op.str()) : nullptr;
}

Status Refused(const std::string& function, const std::string& why, const std::string& node) {
  Diagnostic d;
  d.kind = ErrorKind::kUnsupported;
  d.code = "E0678";
  d.message = "external function '" + function + "' refuses: " + (why.empty() ? "no reason given" : why);
  d.node = node;
  d.hint = "--impl pure takes the op's own form";
  return Status(d);
}

Result<Expr> ScratchOf(const ExternalFunction& f, const NodeView& v) {
  if (!f.scratch) return Expr();
  const CNode node(v);
  std::string text, error;
  const hr_writer out{&text, Append}, err{&error, Append};
  if (Guarded(&error, [&] { return f.scratch(f.user, node.get(), &out, &err); }) != 0) return Refused(f.name, error, v.name);
  if (text.empty()) return Expr();
  Result<Expr> bytes = ParseExpr(text);
  if (!bytes.ok() || !IsIndexExpr(*bytes)) return Refused(f.name, "its scratch is no size: '" + text + "'", v.name);
  const std::unordered_set<Name> around = SizesAround(v);
  for (Name n : FreeSymbols(*bytes))
    if (!around.count(n)) return Refused(f.name, "its scratch speaks of '" + n.str() + "', which is no size of its ports", v.name);
  if (const auto number = AsInt(*bytes); number && *number <= 0) {
    if (*number < 0) return Refused(f.name, "its scratch is negative: '" + text + "'", v.name);
    return Expr();
  }
  return *bytes;
}

Result<std::vector<int>> OrderOf(const ExternalFunction& f, const NodeView& v, int port) {
  const int inputs = static_cast<int>(v.inputs.size());
  const PortView& view = port < inputs ? v.inputs[port] : v.outputs[port - inputs];
  if (!f.layout || !view.present || view.constant || view.shape.size() < 2) return std::vector<int>();
  const CNode node(v);
  std::string error;
  const hr_writer err{&error, Append};
  std::vector<int32_t> order(view.shape.size(), -1);
  const int32_t code = Guarded(&error, [&] { return f.layout(f.user, node.get(), port, order.data(), &err); });
  if (code < 0) return Refused(f.name, error, v.name);
  if (code == 0) return std::vector<int>();
  std::vector<int32_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t d = 0; d < sorted.size(); ++d)
    if (sorted[d] != static_cast<int32_t>(d)) return Refused(f.name, "its layout of '" + view.name + "' is no order of its dimensions", v.name);
  if (sorted == order) return std::vector<int>();
  return std::vector<int>(order.begin(), order.end());
}

std::string EpilogueRefused(const ExternalFunction& f, const NodeView& v) {
  if (!f.epilogue) return "it takes no epilogue";
  const CNode node(v);
  std::string error;
  const hr_writer err{&error, Append};
  if (Guarded(&error, [&] { return f.epilogue(f.user, node.get(), &err); }) == 0) return "";
  return error.empty() ? "no reason given" : error;
}

Result<void*> PrepareCall(const ExternalFunction& f, const NodeView& v, const PrepareOptions& o) {
  const CNode node(v, {o.threads, o.device, o.dense, -1});
  std::string error;
  const hr_writer err{&error, Append};
  void* state = nullptr;
  if (Guarded(&error, [&] { return f.prepare(f.user, node.get(), &state, &err); }) != 0) return Refused(f.name, error, v.name);
  return state;
}

}  // namespace headrace
