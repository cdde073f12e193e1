// Internal to ir/: what a Registry holds.
#pragma once
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ir/differentiator.h"
#include "ir/registry.h"

namespace headrace {

template <typename T>
using Named = std::map<std::string, std::unique_ptr<T>>;

struct Registry::Impl {
  std::map<std::tuple<std::string, std::string, int>, std::unique_ptr<OpSignature>> ops;  // domain, name, since-version
  std::map<std::string, std::string> op_owner;  // "domain.name:version" → plugin
  std::map<std::pair<std::string, std::string>, std::vector<std::unique_ptr<ForwardImplementation>>> forward;
  std::map<std::pair<std::string, std::string>, std::vector<std::unique_ptr<BackwardImplementation>>> backward;
  std::vector<std::unique_ptr<OpDefinition>> definitions;
  std::map<std::string, Inference> inference;  // by domain
  Named<ExternalFunction> functions;
  Named<Pass> passes;
  Named<Pipeline> pipelines;
  Named<Importer> importers;
  Named<Backend> backends;
  Named<Differentiator> differentiators;
  std::vector<LoadedPlugin> plugins;
  std::vector<Diagnostic> load_errors;
  std::string loading;  // name of the plugin whose entry runs; given to what it registers
  std::string loading_path;
  std::string last_error;  // of the C interface
  int sequence = 0;

  std::string Owner(const std::string& given) const {
    return !given.empty() ? given : loading.empty() ? "built in" : loading;
  }
  void RemovePlugin(const std::string& name);  // takes back everything a failed entry registered
};

}  // namespace headrace
