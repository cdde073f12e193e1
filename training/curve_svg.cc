#include "training/curve_svg.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace headrace::training {
namespace {

constexpr double kWidth = 720, kHeight = 400, kTop = 56, kBottom = 352, kLeft = 72;
constexpr size_t kColumns = 240;  // points of a line, at most

// Colours told apart by the colour-blind, on white and on near-black.
constexpr char kStyle[] =
    "<style>"
    "text{font:13px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#57606a}"
    ".page{fill:#fff}.grid{stroke:#d8dee4;fill:none}.axis{stroke:#8c959f;fill:none}.key{fill:#1f2328}"
    "polyline,path.raw{fill:none;stroke-linejoin:round;stroke-linecap:round}"
    ".loss{stroke:#0969da;stroke-width:2}.raw{stroke:#0969da;stroke-width:1;stroke-opacity:.28}"
    ".validation{stroke:#bc4c00;stroke-width:2}.accuracy{stroke:#1a7f37;stroke-width:2;stroke-dasharray:5 4}"
    "circle.loss,circle.validation,circle.accuracy{stroke:none}circle.loss{fill:#0969da}circle.validation{fill:#bc4c00}circle.accuracy{fill:#1a7f37}"
    "@media(prefers-color-scheme:dark){"
    "text{fill:#9198a1}.page{fill:#0d1117}.grid{stroke:#262c36}.axis{stroke:#656c76}.key{fill:#f0f6fc}"
    ".loss{stroke:#58a6ff}.raw{stroke:#58a6ff}.validation{stroke:#f0883e}.accuracy{stroke:#3fb950}"
    "circle.loss{fill:#58a6ff}circle.validation{fill:#f0883e}circle.accuracy{fill:#3fb950}}"
    "</style>";

std::string Format(const char* format, double v) {
  char text[48];
  std::snprintf(text, sizeof text, format, v);
  return text;
}

// One decimal, without a zero one.
std::string Pixel(double v) {
  std::string s = Format("%.1f", v);
  if (s.size() > 2 && s.compare(s.size() - 2, 2, ".0") == 0) s.resize(s.size() - 2);
  return s == "-0" ? "0" : s;
}

// 250, 1.5k, 20M
std::string Count(double v) {
  const std::pair<double, const char*> units[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [size, unit] : units)
    if (std::abs(v) >= size * (size == 1e3 ? 10 : 1)) return Format("%.6g", v / size) + unit;
  return Format("%.6g", v);
}

// What can be drawn: no NaN, nothing so large that sums of it overflow.
Points Drawable(const Points& p) {
  Points out;
  for (const auto& [step, value] : p)
    if (std::abs(value) < 1e290) out.emplace_back(step, value);
  return out;
}

struct Scale {  // values → pixels
  double low = 0, high = 1, from = 0, to = 1;
  bool log = false;  // low and high are decades
  double operator()(double v) const { return from + ((log ? std::log10(v) : v) - low) / (high - low) * (to - from); }
};

// Mean over a window around each of kColumns points. Windows are summed anew, so that one huge value spoils only those that
// hold it.
Points Smooth(const Points& p) {
  const size_t n = p.size();
  if (n < 20) return p;
  Points out;
  const size_t count = std::min(n, kColumns), half = std::max<size_t>(2, n / 50);
  for (size_t k = 0; k < count; ++k) {
    const size_t i = k * (n - 1) / (count - 1), begin = i - std::min(i, half), end = std::min(n, i + half + 1);
    double sum = 0;
    for (size_t j = begin; j < end; ++j) sum += p[j].second;
    out.emplace_back(p[i].first, sum / static_cast<double>(end - begin));
  }
  return out;
}

// Every point, or the extremes of each column.
Points Decimate(const Points& p) {
  if (p.size() <= 2 * kColumns) return p;
  Points out;
  for (size_t k = 0; k < kColumns; ++k) {
    const auto begin = p.begin() + static_cast<ptrdiff_t>(k * p.size() / kColumns);
    const auto end = p.begin() + static_cast<ptrdiff_t>((k + 1) * p.size() / kColumns);
    auto [low, high] = std::minmax_element(begin, end, [](auto& a, auto& b) { return a.second < b.second; });
    if (low > high) std::swap(low, high);
    out.push_back(*low);
    if (low != high) out.push_back(*high);
  }
  return out;
}

class Chart {
 public:
  Chart(const Points& losses, const Points& validation, const Points& accuracy)
      : losses_(Drawable(losses)), validation_(Drawable(validation)), accuracy_(Drawable(accuracy)) {
    int64_t first = 0, last = 1;
    for (const Points* p : {&losses, &validation, &accuracy})
      if (!p->empty()) last = std::max(last, p->back().first);
    right_ = accuracy_.empty() ? kWidth - 24 : kWidth - 56;
    x_ = {static_cast<double>(first), static_cast<double>(last), kLeft, right_};
  }

  std::string Draw() {
    out_ =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 400\" width=\"720\" height=\"400\" role=\"img\">"
        "<title>Loss over training steps</title>";
    out_ += kStyle;
    out_ +=
        "<rect class=\"page\" width=\"720\" height=\"400\" rx=\"6\"/>"
        "<clipPath id=\"plot\"><rect x=\"" +
        Pixel(kLeft) + "\" y=\"" + Pixel(kTop - 2) + "\" width=\"" + Pixel(right_ - kLeft + 3) + "\" height=\"" +
        Pixel(kBottom - kTop + 4) + "\"/></clipPath>";
    if (losses_.empty() && validation_.empty()) {
      Text(kWidth / 2, kHeight / 2, "middle", "no steps yet");
      return out_ + "</svg>\n";
    }
    const Points smooth = Smooth(losses_);
    Steps();
    const Scale y = Losses(smooth);
    const Scale percent = Accuracies();
    out_ += "<g clip-path=\"url(#plot)\">";
    if (losses_.size() >= 20) Line("raw", Decimate(losses_), y);
    Line("loss", smooth, y);
    Line("validation", Decimate(validation_), y);
    Line("accuracy", Decimate(accuracy_), percent);
    out_ += "</g>";
    if (losses_.size() == 1) Marks("loss", losses_, y);
    Marks("validation", validation_, y);
    Marks("accuracy", accuracy_, percent);
    Legend(smooth);
    return out_ + "</svg>\n";
  }

 private:
  void Text(double x, double y, const char* anchor, const std::string& text, const std::string& more = "") {
    out_ += "<text x=\"" + Pixel(x) + "\" y=\"" + Pixel(y) + "\" text-anchor=\"" + anchor + "\"" + more + ">" + text +
            "</text>";
  }

  void Segment(const char* style, double x0, double y0, double x1, double y1) {
    out_ += std::string("<path class=\"") + style + "\" d=\"M" + Pixel(x0) + " " + Pixel(y0) + "L" + Pixel(x1) + " " +
            Pixel(y1) + "\"/>";
  }

  void Steps() {
    for (double t : RoundTicks(x_.low, x_.high, 8)) {
      if (t > x_.high || t != std::floor(t)) continue;
      Segment("axis", x_(t), kBottom, x_(t), kBottom + 4);
      Text(x_(t), kBottom + 19, "middle", Count(t));
    }
    Text((kLeft + right_) / 2, kHeight - 10, "middle", "step");
  }

  // Over the smoothed and the validation loss: what the raw one has outside is cut off. Decades where it falls by two or more.
  Scale Losses(const Points& smooth) {
    double low = INFINITY, high = -INFINITY;
    for (const Points* p : {&smooth, &validation_})
      for (const auto& [step, value] : *p) low = std::min(low, value), high = std::max(high, value);
    const bool log = low > 0 && high > 100 * low;
    if (low > 0 && low < 0.5 * high) low = log ? low : 0;
    const std::vector<double> ticks = log ? Decades(low, high) : RoundTicks(low, high, 6);
    const Scale y = {ticks.front(), ticks.back(), kBottom, kTop, log};
    for (double t : ticks) {
      const double v = log ? std::pow(10, t) : t;
      Segment(t == ticks.front() ? "axis" : "grid", kLeft, y(v), right_, y(v));
      Text(kLeft - 8, y(v) + 4, "end", Count(v));
    }
    const double middle = (kTop + kBottom) / 2;
    Text(18, middle, "middle", log ? "loss (log scale)" : "loss",
         " transform=\"rotate(-90 18 " + Pixel(middle) + ")\"");
    return y;
  }

  static std::vector<double> Decades(double low, double high) {
    const double first = std::floor(std::log10(low)), last = std::ceil(std::log10(high));
    const double apart = std::ceil((last - first) / 6);
    std::vector<double> ticks = {first};
    while (ticks.back() < last) ticks.push_back(ticks.back() + apart);
    return ticks;
  }

  Scale Accuracies() {
    if (accuracy_.empty()) return {};
    double low = 1, high = 0;
    for (const auto& [step, value] : accuracy_) low = std::min(low, value), high = std::max(high, value);
    const std::vector<double> ticks = RoundTicks(100 * std::min(low, high - 0.01), 100 * high, 5);
    const Scale y = {ticks.front() / 100, ticks.back() / 100, kBottom, kTop};
    for (double t : ticks) Text(right_ + 8, y(t / 100) + 4, "start", Format("%.6g", t) + "%");
    return y;
  }

  void Line(const char* style, const Points& p, const Scale& y) {
    if (p.empty()) return;
    out_ += std::string("<polyline class=\"") + style + "\" points=\"";
    for (const auto& [step, value] : p) {
      // What is far outside is clipped anyway, and its digits cost bytes.
      const double v = y.log && value <= 0 ? 2 * kHeight : std::clamp(y(value), -kHeight, 2 * kHeight);
      out_ += Pixel(x_(static_cast<double>(step))) + "," + Pixel(v) + " ";
    }
    out_.back() = '"';
    out_ += "/>";
  }

  void Marks(const char* style, const Points& p, const Scale& y) {
    if (p.size() > 40) return;
    for (const auto& [step, value] : p) {
      out_ += std::string("<circle class=\"") + style + "\" cx=\"" + Pixel(x_(static_cast<double>(step))) + "\" cy=\"" +
              Pixel(y(value)) + "\" r=\"3\"/>";
    }
  }

  // The last values too: what one looks for first.
  void Legend(const Points& smooth) {
    double x = kLeft;
    const auto key = [&](const char* style, const std::string& text) {
      Segment(style, x, 28, x + 22, 28);
      Text(x + 28, 32, "start", text, " class=\"key\"");
      x += 28 + 7.2 * static_cast<double>(text.size()) + 22;
    };
    if (!smooth.empty()) key("loss", "training loss " + Format("%.4g", smooth.back().second));
    if (!validation_.empty()) key("validation", "validation loss " + Format("%.4g", validation_.back().second));
    if (!accuracy_.empty()) key("accuracy", "accuracy " + Format("%.4g", 100 * accuracy_.back().second) + "%");
  }

  const Points losses_, validation_, accuracy_;
  double right_ = 0;
  Scale x_;
  std::string out_;
};

}  // namespace

std::vector<double> RoundTicks(double low, double high, int most) {
  const double size = std::max(std::abs(low), std::abs(high));
  if (!(high - low > std::max(1e-9 * size, 1e-290))) {  // a flat line
    const double room = size > 1e-290 ? 0.1 * size : 1;
    low -= room, high += room;
  }
  const double least = (high - low) / std::max(1, most - 1);
  double apart = std::pow(10, std::floor(std::log10(least)));
  for (double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (factor * apart < least * (1 - 1e-9)) continue;
    apart *= factor;
    break;
  }
  std::vector<double> ticks;
  const double first = std::floor(low / apart + 1e-9), last = std::ceil(high / apart - 1e-9);
  for (double i = first; i <= last; ++i) ticks.push_back(i * apart);
  return ticks;
}

std::string CurveSvg(const Points& losses, const Points& validation, const Points& accuracy) {
  return Chart(losses, validation, accuracy).Draw();
}

}  // namespace headrace::training
