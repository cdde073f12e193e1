// Results against another's: test data, the interpreter, another runtime.
#pragma once
#include <optional>

#include "driver/commands/commands.h"

namespace headrace {

struct Tolerances {
  std::optional<double> relative, absolute;  // as the user says; else by the dtype
};

// Relative and absolute, where nobody says otherwise: implementations sum in other orders and fuse roundings.
std::pair<double, double> UsualTolerance(const Value& v);

// What `program` gives by `runtime`: interpreter, reference (the onnx package), onnxruntime. In the order of the outputs.
Result<std::vector<Value>> OutputsOf(const std::string& runtime, const Registry& r, const ModelFlags& f,
                                     const LoadedModel& m, const NamedValues& inputs, const NamedSizes& symbols,
                                     const Common& c);
// The request for another process that runs the model; an error where it can't be one.
Result<std::vector<std::pair<std::string, Tensor>>> PeerInputs(const ModelFlags& f, const LoadedModel& m,
                                                               const NamedValues& inputs, const std::string& runtime);

// Prints a line for each output (or fills `j`, an array of objects by output); whether all agree.
bool Judge(const std::vector<std::string>& names, const std::vector<Value>& got, const std::vector<Value>& expected,
           const Tolerances& t, const Common& c, nlohmann::json* j);

}  // namespace headrace
