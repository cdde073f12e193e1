// What Loop and Scan share: values carried from one iteration to the next, and results gathered over iterations.
#pragma once
#include <string>
#include <vector>

#include "importers/onnx/lower.h"

namespace headrace::onnx_import {

// A loop body whose carried values keep their sizes is lowered once. Where a size changes from one iteration to the next it
// becomes a symbol that each iteration sets again, and the body is lowered once more from where it started.
class LoopLowering {
 public:
  LoopLowering(Lowering& lowering, const NodeCall& call, Scope& scope) : l_(lowering), call_(call), scope_(scope) {}
  void RunLoop();
  void RunScan();
  void RunBatchedScan();  // opset 8: one scan per entry of the batch

 private:
  struct Carried {
    Val initial;
    Val value;                  // in and after the loop
    std::vector<Name> symbols;  // of dimensions that change; "" where a dimension stays
    std::vector<bool> varies;
  };
  struct Gathered {  // a scan output
    Name container;  // [trips, element…], or a sequence when the number or the size is not known before
    Val element;     // of the last lowering of the body
    int64_t axis = 0;
    bool reverse = false;
    bool sequence = false;
  };
  Status Fail(const std::string& message, std::string got = "");
  bool Enter(std::vector<Carried>* carried);  // containers, initial values
  bool Leave(std::vector<Carried>* carried,
             const std::vector<Val>& next);  // false: a size changes; Carried::varies says which
  Val Slice(const Val& whole, int64_t axis, const Expr& at, const std::string& name);
  void Put(Name target, const Val& element, int64_t axis, const Expr& at);
  bool BoundBeforeLoop(const Expr& e, const std::vector<Name>& before) const;
  void Rounds(std::vector<Carried>* carried, bool (LoopLowering::*once)(std::vector<Carried>*, bool*));
  bool LoopOnce(std::vector<Carried>* carried, bool* again);
  bool ScanOnce(std::vector<Carried>* carried, bool* again);
  // Of all scan inputs along their axes; what is not known now is required when the model runs.
  void RequireEqualLengths(const std::vector<int64_t>& axes, const Expr& trips);
  void Gather(const std::string& output, const Gathered& g, const Expr& trips, const Expr& counted, bool may_stop);

  Lowering& l_;
  const NodeCall& call_;
  Scope& scope_;
};

}  // namespace headrace::onnx_import
