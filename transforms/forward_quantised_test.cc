#include "transforms/forward_quantised.h"

#include <gtest/gtest.h>

#include "transforms/passes.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Ports as those of ONNX, of any type.
const Registry& Ops() {
  static const Registry* ops = [] {
    auto* r = new Registry;
    Status s = RegisterAll(*r);
    const auto add = [&](const std::string& name, const std::vector<std::string>& inputs, const std::string& output) {
      OpSignature op;
      op.domain = "onnx", op.name = name;
      for (const std::string& n : inputs) op.inputs.push_back({}), op.inputs.back().name = n, op.inputs.back().type = n;
      op.outputs.push_back({}), op.outputs.back().name = output, op.outputs.back().type = output;
      if (s.ok()) s = r->Add(op);
    };
    add("QuantizeLinear", {"x", "y_scale", "y_zero_point"}, "y");
    add("DequantizeLinear", {"x", "x_scale", "x_zero_point"}, "y");
    add("Transpose", {"data"}, "transposed");
    add("Flatten", {"input"}, "output");
    add("MaxPool", {"X"}, "Y");
    add("Relu", {"X"}, "Y");
    add("Identity", {"input"}, "output");
    HR_CHECK(s.ok(), s.ToString());
    return r;
  }();
  return *ops;
}

constexpr char kForward[] = "forward-quantised; eliminate-dead-code";

std::string Program(const std::string& constants, const std::string& statements, const std::string& type = "u8") {
  return "sdfg f(q: " + type + "[2, 3], p: f32, r: " + type + "[3, 2]) {\n" + constants +
         "  transient D: f32[2, 3]\n  transient T: f32[3, 2]\n  state {\n" + statements + "  }\n}\n";
}
std::string Requantised(const std::string& scale, const std::string& zero,
                        const std::string& moved = "onnx.Transpose(data = D) -> (transposed = T)") {
  return "onnx.DequantizeLinear(x = q, x_scale = s, x_zero_point = z) -> (y = D)\n" + moved +
         "\nonnx.QuantizeLinear(x = T, y_scale = " + scale + ", y_zero_point = " + zero + ") -> (y = r)\n";
}

// Equal numbers by other names.
TEST(ForwardQuantised, ATranspose) {
  ExpectPass(
      Program("  constant s: f32 = 0.1\n  constant z: u8 = 7\n  constant t: f32 = 0.1\n  constant y: u8[1] = [7]\n",
              Requantised("t", "y")),
      kForward, "sdfg f(q: u8[2, 3], p: f32, r: u8[3, 2]) { state { onnx.Transpose(data = q) -> (transposed = r) } }",
      Ops());
}

// What is moved again and again, and nothing that is moved.
TEST(ForwardQuantised, Chains) {
  ExpectPass(R"(sdfg f(q: i8[2, 3], r: i8[6, 1], o: i8[6, 1]) {
    constant s: f32 = 0.5
    transient D: f32[2, 3]
    transient T: f32[3, 2]
    transient F: f32[6, 1]
    transient E: f32[6, 1]
    state {
      onnx.DequantizeLinear(x = q, x_scale = s) -> (y = D)
      onnx.Transpose(data = D) -> (transposed = T)
      onnx.Flatten(input = T) -> (output = F)
      onnx.QuantizeLinear(x = F, y_scale = s) -> (y = r)
      onnx.DequantizeLinear(x = r, x_scale = s) -> (y = E)
      onnx.QuantizeLinear(x = E, y_scale = s) -> (y = o)
    }
  })",
             kForward, R"(sdfg f(q: i8[2, 3], r: i8[6, 1], o: i8[6, 1]) {
    transient T_quantised: i8[3, 2]
    state {
      onnx.Transpose(data = q) -> (transposed = T_quantised)
      onnx.Flatten(input = T_quantised) -> (output = r)
      onnx.Identity(input = r) -> (output = o)
    }
  })",
             Ops());
}

// Others read the floats.
TEST(ForwardQuantised, WhatOthersReadStays) {
  ExpectPass(R"(sdfg f(q: u8[2, 3], r: u8[3, 2], R: f32[3, 2]) {
    constant s: f32 = 0.5
    transient D: f32[2, 3]
    transient T: f32[3, 2]
    state {
      onnx.DequantizeLinear(x = q, x_scale = s) -> (y = D)
      onnx.Transpose(data = D) -> (transposed = T)
      onnx.QuantizeLinear(x = T, y_scale = s) -> (y = r)
      onnx.Relu(X = T) -> (Y = R)
    }
  })",
             kForward, R"(sdfg f(q: u8[2, 3], r: u8[3, 2], R: f32[3, 2]) {
    constant s: f32 = 0.5
    transient D: f32[2, 3]
    transient T: f32[3, 2]
    state {
      onnx.DequantizeLinear(x = q, x_scale = s) -> (y = D)
      onnx.Transpose(data = D) -> (transposed = T)
      onnx.Transpose(data = q) -> (transposed = r)
      onnx.Relu(X = T) -> (Y = R)
    }
  })",
             Ops());
}

void ExpectKept(const std::string& constants, const std::string& statements, const std::string& type = "u8") {
  ExpectUnchanged(Program(constants, statements, type), "forward-quantised", Ops());
}

TEST(ForwardQuantised, OtherScales) {
  ExpectKept("  constant s: f32 = 0.5\n  constant t: f32 = 0.25\n  constant z: u8 = 7\n", Requantised("t", "z"));
  ExpectKept("  constant s: f32 = 0.5\n  constant z: u8 = 7\n  constant y: u8 = 8\n", Requantised("s", "y"));
  ExpectKept("  constant s: f32 = 0.5\n  constant z: u8 = 7\n", Requantised("p", "z"));
  ExpectKept("  constant s: f32 = 0\n  constant z: u8 = 7\n", Requantised("s", "z"));
  ExpectKept("  constant s: f32 = 1e-38\n  constant z: u8 = 7\n", Requantised("s", "z"));
  ExpectKept("  constant s: f32 = inf\n  constant z: u8 = 7\n", Requantised("s", "z"));
  ExpectKept("  constant s: f32[3] = [1, 2, 3]\n  constant z: u8[3] = [7, 7, 7]\n", Requantised("s", "z"));
}

// Numbers of 16 bits over a scale need not be the same ones again.
TEST(ForwardQuantised, OtherTypes) {
  ExpectKept("  constant s: f32 = 0.1\n  constant z: u16 = 7\n", Requantised("s", "z"), "u16");
}

TEST(ForwardQuantised, OtherOps) {
  ExpectKept("  constant s: f32 = 0.5\n  constant z: u8 = 7\n", Requantised("s", "z", "onnx.Relu(X = D) -> (Y = T)"));
}

// The largest number of a window is the largest value where the scale is positive.
TEST(ForwardQuantised, MaximaOfWindows) {
  const std::string pool = "onnx.MaxPool{kernel_shape = [1, 2]}(X = D) -> (Y = T)";
  ExpectPass(
      Program("  constant s: f32 = 0.5\n  constant z: u8 = 7\n", Requantised("s", "z", pool)), kForward,
      "sdfg f(q: u8[2, 3], p: f32, r: u8[3, 2]) { state { onnx.MaxPool{kernel_shape = [1, 2]}(X = q) -> (Y = r) } }",
      Ops());
  ExpectKept("  constant s: f32 = -0.5\n  constant z: u8 = 7\n", Requantised("s", "z", pool));
}

}  // namespace
}  // namespace headrace::transforms
