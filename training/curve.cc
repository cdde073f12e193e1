#include "training/curve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "training/curve_svg.h"
#include "training/whole_file.h"

namespace headrace::training {
namespace {

constexpr char kSteps[] = "step,epoch,rate,loss\n";
constexpr char kEpochs[] = "epoch,step,loss,validation_loss,validation_accuracy\n";

// Shortest text that reads back as the same double.
std::string Text(double v) {
  if (std::isnan(v)) return "nan";
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, v).ptr);
}

Status NotOurs(const std::string& path, const std::string& columns) {
  Diagnostic d;
  d.code = "E0955", d.file = path;
  d.message = "this file has other columns than a training run's, and is left as it is";
  d.expected = columns.substr(0, columns.size() - 1);
  d.hint = "move it away, or name another folder";
  return Status(d);
}

// One line after another, without the newline; a last line without newline does not count.
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(std::fopen(path.c_str(), "rbe"), std::fclose) {}
  ~Lines() { std::free(line_); }
  Lines(const Lines&) = delete;
  bool exists() const { return file_ != nullptr; }
  bool Next(std::string* line) {
    const ssize_t n = file_ ? getline(&line_, &capacity_, file_.get()) : -1;
    if (n <= 0 || line_[n - 1] != '\n') return false;
    line->assign(line_, static_cast<size_t>(n));
    return true;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  char* line_ = nullptr;
  size_t capacity_ = 0;
};

// The fields of a line; those that are no number are NaN.
std::vector<double> Fields(const std::string& line) {
  std::vector<double> out;
  for (size_t at = 0; at < line.size();) {
    const size_t end = line.find_first_of(",\n", at);
    double v = NAN;
    const auto read = std::from_chars(line.data() + at, line.data() + end, v);
    out.push_back(read.ptr == line.data() + end && read.ec == std::errc() ? v : NAN);
    at = end + 1;
  }
  return out;
}

}  // namespace

CurveFiles::~CurveFiles() {
  for (File* f : {&steps_, &epochs_})
    if (f->fd >= 0) close(f->fd);
}

Status CurveFiles::Open(File& f, const std::string& name, int64_t step, std::vector<std::string>* notes) {
  const bool by_step = &f == &steps_;
  const std::string columns = by_step ? kSteps : kEpochs;
  f.path = folder_ + "/" + name;
  int64_t keep = 0, last = 0;
  {
    Lines lines(f.path);
    std::string line;
    if (lines.exists() && lines.Next(&line)) {
      if (line != columns) return NotOurs(f.path, columns);
      keep = static_cast<int64_t>(line.size());
      while (lines.Next(&line)) {
        const std::vector<double> fields = Fields(line);
        if (fields.size() != (by_step ? 4 : 5)) break;
        const double at = fields[by_step ? 0 : 1];
        if (!(at > static_cast<double>(last) && at <= static_cast<double>(step))) break;
        last = static_cast<int64_t>(at);
        keep += static_cast<int64_t>(line.size());
      }
    }
  }
  if (by_step && last < step && notes != nullptr) {
    notes->push_back(f.path + " ends at step " + std::to_string(last) + ": the curve has a gap up to step " +
                     std::to_string(step));
  }
  f.fd = open(f.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (f.fd < 0 || ftruncate(f.fd, keep) != 0 || lseek(f.fd, keep, SEEK_SET) < 0) return WriteError(f.path, errno);
  if (keep == 0) f.buffer = columns;
  return Write(f);
}

Status CurveFiles::Open(int64_t step, std::vector<std::string>* notes) {
  HR_RETURN_IF_ERROR(Open(steps_, "losses.csv", step, notes));
  return Open(epochs_, "epochs.csv", step, notes);
}

Status CurveFiles::Write(File& f) {
  if (!WriteAll(f.fd, f.buffer)) return WriteError(f.path, errno);
  f.buffer.clear();
  return {};
}

Status CurveFiles::AddStep(int64_t step, int64_t epoch, double rate, double loss) {
  steps_.buffer += std::to_string(step) + "," + std::to_string(epoch) + "," + Text(rate) + "," + Text(loss) + "\n";
  return steps_.buffer.size() < 4096 ? Status() : Write(steps_);
}

Status CurveFiles::AddEpoch(int64_t epoch, int64_t step, double loss, const double* validation_loss,
                            const double* accuracy) {
  epochs_.buffer += std::to_string(epoch) + "," + std::to_string(step) + "," + Text(loss) + "," +
                    (validation_loss ? Text(*validation_loss) : "") + "," + (accuracy ? Text(*accuracy) : "") + "\n";
  return {};
}

Status CurveFiles::Flush() {
  for (File* f : {&steps_, &epochs_}) {
    HR_RETURN_IF_ERROR(Write(*f));
    if (fsync(f->fd) != 0) return WriteError(f->path, errno);
  }
  return {};
}

Status CurveFiles::Draw() {
  Points losses, validation, accuracy;
  for (File* f : {&steps_, &epochs_}) {
    HR_RETURN_IF_ERROR(Write(*f));
    Lines lines(f->path);
    std::string line;
    lines.Next(&line);
    while (lines.Next(&line)) {
      const std::vector<double> v = Fields(line);
      if (f == &steps_ && v.size() == 4) losses.emplace_back(static_cast<int64_t>(v[0]), v[3]);
      if (f != &epochs_ || v.size() != 5) continue;
      if (!std::isnan(v[3])) validation.emplace_back(static_cast<int64_t>(v[1]), v[3]);
      if (!std::isnan(v[4])) accuracy.emplace_back(static_cast<int64_t>(v[1]), v[4]);
    }
  }
  return WriteWholeFile(folder_ + "/losses.svg", {CurveSvg(losses, validation, accuracy)}, false);
}

}  // namespace headrace::training
