// The importer "onnx" as a tier-2 plugin.
#include "importers/onnx/import.h"
#include "importers/onnx/registered.h"
#include "importers/onnx/save.h"
#include "ir/plugin.h"

namespace headrace::onnx_import {

Status Register(Registry& registry) {
  HR_RETURN_IF_ERROR(RegisterSchemas(registry));
  HR_RETURN_IF_ERROR(RegisterInference(registry));
  HR_RETURN_IF_ERROR(RegisterOwnLowerings(registry));
  Importer i;
  i.name = "onnx";
  i.extensions = {".onnx", ".onnxtxt"};
  // Nothing of ONNX's throws across the border.
  i.import = [](const std::string& path, const ImportOptions& options, const Registry& r) -> Result<ImportedModel> {
    try {
      return ImportModel(path, options, r);
    } catch (const std::exception& e) {
      return WithFile(InvalidError("E0537", std::string("the model can't be read: ") + e.what()), path);
    }
  };
  i.check = [](const std::string& path, const Registry& r) -> Status {
    try {
      return CheckFile(path, r);
    } catch (const std::exception& e) {
      return WithFile(InvalidError("E0537", std::string("the model can't be read: ") + e.what()), path);
    }
  };
  i.save = [](const std::string& from, const std::string& to, const SaveOptions& options) -> Status {
    try {
      return SaveModel(from, to, options);
    } catch (const std::exception& e) {
      return WithFile(InvalidError("E0551", std::string("the model can't be saved: ") + e.what()), to);
    }
  };
  i.read_value = [](const std::string& path) -> Result<Value> {
    try {
      return ReadValueFile(path);
    } catch (const std::exception& e) {
      return WithFile(InvalidError("E0538", std::string("the value can't be read: ") + e.what()), path);
    }
  };
  return registry.Add(std::move(i));
}

}  // namespace headrace::onnx_import

HEADRACE_TIER2_PLUGIN("onnx_importer", headrace::onnx_import::Register)
