// The samples of op blocks (plugins/onnx/README.md, "Samples") as programs and values: for `headrace ops --test`
// and every test that walks over all registered ops. Registering an op with samples is enough for it to be tested.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ir/registry/registry.h"

namespace headrace {

struct SampleInput {
  std::string port;  // variadic ports repeat
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  bool given = false;  // "= …": a constant of the program; otherwise an input, drawn from [lo, hi]
  double lo = -3, hi = 3;
  int special = 0;  // how many first elements are the named points ("at …": kinks, saturation)
  Tensor value;
};

struct OpSample {
  const OpDefinition* definition = nullptr;
  const OpSignature* signature = nullptr;  // the newest that the definition serves
  std::string text;
  std::vector<SampleInput> inputs;           // in the signature's order; inputs not named are absent
  Attributes attributes;                     // typed as the signature says
  std::vector<std::string> attribute_texts;  // the same in ONNX's text syntax: "alpha: float = 0.5"
  std::vector<std::string> outputs;          // those the node has: "out …", or those that are not optional, or all
  std::string Label() const;                 // "onnx.Elu (opset 22), sample 1"
  int number = 0;
};

// One sample; values drawn from `seed`. Errors quote the text and say what is wrong with it.
Result<OpSample> ParseSample(const Registry& r, const OpDefinition& d, int number, uint64_t seed = 0);

// Every sample of every registered op whose name contains `filter`, in the registry's order; and what is wrong with the rest.
std::vector<OpSample> Samples(const Registry& r, const std::string& filter = "", std::vector<Status>* errors = nullptr,
                              uint64_t seed = 0);

// An ONNX model of one node, in ONNX's text: the sample's drawn inputs are its inputs (named as the ports; variadic ones NAME_0,
// NAME_1 …), given ones its initializers, and the ports of `outputs` its outputs (out_PORT).
std::string SampleModel(const OpSample& s);
// The same as a program of one library node; its outputs' types and sizes are inferred as those of any node of an ONNX model.
// The model is written into `folder`.
Result<Program> SampleProgram(const Registry& r, const OpSample& s, const std::string& folder);
// The drawn values by the program's names.
std::vector<std::pair<Name, Value>> SampleValues(const OpSample& s);

// The same program with every float type narrower than f64 made f64 (constants converted; so that casts to floats are casts
// to f64), for derivatives by differences and for oracles. ONNX's type constraints are lifted.
Result<Program> InDouble(const Program& p);
Result<std::vector<std::pair<Name, Value>>> InDouble(const std::vector<std::pair<Name, Value>>& values);

}  // namespace headrace
