// Errors as values. A Status is OK or carries one or more diagnostics; Result<T> is a value or a Status.
// The user's fault is a diagnostic; ours is HR_CHECK, which prints what was being done and aborts.
#pragma once
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace headrace {

// What kind of failure it is; the driver maps it to an exit code (DESIGN §10).
enum class ErrorKind { kInvalid, kUsage, kUnsupported, kMismatch, kInterrupted, kInternal };

// One thing that is wrong, where, and what to do about it. Empty fields are not printed.
struct Diagnostic {
  ErrorKind kind = ErrorKind::kInvalid;
  std::string code;          // stable short name, "E0104" style; docs/errors.md is generated from these
  std::string message;       // one sentence: what is wrong
  std::string file;          // file the user gave
  int line = 0, column = 0;  // 1-based; 0 = no text position
  std::string source_line;   // the line of text, for the caret
  std::string node;          // name of the node or container
  std::string op;            // "onnx.Conv (opset 11)"
  std::string got, expected, hint;
};

// Renders as several lines: "error[E0104]: message", place, caret, got/expected, hint.
std::string Render(const Diagnostic& d);

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  explicit Status(Diagnostic d) : all_(std::make_shared<std::vector<Diagnostic>>(1, std::move(d))) {}
  explicit Status(std::vector<Diagnostic> all)
      : all_(all.empty() ? nullptr : std::make_shared<std::vector<Diagnostic>>(std::move(all))) {}
  bool ok() const { return all_ == nullptr; }
  const std::vector<Diagnostic>& diagnostics() const;  // empty when OK
  ErrorKind kind() const;                              // of the first diagnostic; must not be OK
  std::string message() const;                         // the first diagnostic's message, "" when OK
  std::string ToString() const;                        // every diagnostic rendered; "OK" when OK

 private:
  std::shared_ptr<std::vector<Diagnostic>> all_;
};

// What the user meets has a code, "E0104", whose section in docs/errors.md gives the cause and the fix.
using ErrorCode = const char (&)[6];
Status InvalidError(ErrorCode code, std::string message, std::string hint = "");
Status UnsupportedError(ErrorCode code, std::string message, std::string hint = "");
Status UsageError(ErrorCode code, std::string message, std::string hint = "");
Status InvalidError(std::string message, std::string hint = "");
Status UnsupportedError(std::string message, std::string hint = "");
Status UsageError(std::string message, std::string hint = "");
Status InternalError(std::string message);  // E0000
Status InterruptedError();
// The same status with every diagnostic's empty `field` filled in: errors gain their place on the way up.
Status WithFile(Status s, const std::string& file);
Status WithNode(Status s, const std::string& node, const std::string& op = "");
Status WithCode(Status s, ErrorCode code);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : v_(std::move(status)) {}  // NOLINT
  bool ok() const { return v_.index() == 0; }
  Status status() const { return ok() ? Status() : std::get<1>(v_); }
  T& value() & { return std::get<0>(v_); }
  const T& value() const& { return std::get<0>(v_); }
  T&& value() && { return std::get<0>(std::move(v_)); }
  T& operator*() & { return std::get<0>(v_); }
  const T& operator*() const& { return std::get<0>(v_); }
  T&& operator*() && { return std::get<0>(std::move(v_)); }
  T* operator->() { return &std::get<0>(v_); }
  const T* operator->() const { return &std::get<0>(v_); }

 private:
  std::variant<T, Status> v_;
};

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace headrace

#define HR_CONCAT_INNER(a, b) a##b
#define HR_CONCAT(a, b) HR_CONCAT_INNER(a, b)
#define HR_RETURN_IF_ERROR(expr)           \
  do {                                     \
    ::headrace::Status hr_status = (expr); \
    if (!hr_status.ok()) return hr_status; \
  } while (0)
#define HR_ASSIGN_OR_RETURN(lhs, expr) HR_ASSIGN_IMPL(HR_CONCAT(hr_result_, __LINE__), lhs, expr)
#define HR_ASSIGN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                   \
  if (!tmp.ok()) return tmp.status();  \
  lhs = std::move(tmp).value()
#define HR_CHECK(cond, message) ((cond) ? (void)0 : ::headrace::CheckFailed(__FILE__, __LINE__, #cond, (message)))
