// A Conv implementation with a condition, written from docs/plugins.md: one channel in, one out, no padding, by sums of shifted images.
#include "headrace_plugin.hpp"
using headrace_plugin::Node;

static std::string WhyNot(const Node& n) {
  const hr_port *x = n.input("X"), *w = n.input("W");
  if (x->dtype != HR_F32 || x->rank != 4) return "only images in f32";
  if (w->shape[0] != std::string("1") || w->shape[1] != std::string("1")) return "more than one channel";
  if (n.input("B")) return "it has a bias";
  for (const char* name : {"pads", "strides", "dilations", "auto_pad"})
    if (!n.attribute(name).empty() && n.attribute(name) != "\"NOTSET\"") return std::string("it has ") + name;
  return "";
}

static std::string Expand(const Node& n) {
  const hr_port *x = n.input("X"), *w = n.input("W"), *y = n.output("Y");
  auto port = [](const std::string& name, const hr_port* p) { return name + ": f32[" + Node::Shape(p) + "]"; };
  const std::string over = std::string("map b in 0:") + y->shape[0] + ", i in 0:" + y->shape[2] + ", j in 0:" + y->shape[3];
  return "sdfg shifted(" + port("X", x) + ", " + port("W", w) + ", " + port("Y", y) + ") {\n  " +
         over + " { Y[b, 0, i, j] = 0 }\n  " +
         over + ", p in 0:" + w->shape[2] + ", q in 0:" + w->shape[3] + " { Y[b, 0, i, j] += X[b, 0, i + p, j + q] * W[0, 0, p, q] }\n}\n";
}

HEADRACE_PLUGIN("acme_convolution", "0.1") { r.impl("Conv", "shifted", WhyNot, Expand); }
