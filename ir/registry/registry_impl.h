// Internal to ir/: what a Registry holds.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <vector>

#include "ir/registry/differentiator.h"
#include "ir/registry/registry.h"
#include "ir/registry/transformation.h"

namespace headrace {

template <typename T>
using Named = std::map<std::string, std::unique_ptr<T>>;

struct Registry::Impl {
  std::mutex loads;          // one plugin is loaded at a time
  std::shared_mutex tables;  // what is below; items stay where they are, so that what was found may be used without it
  std::map<std::tuple<std::string, std::string, int>, std::unique_ptr<OpSignature>> ops;  // domain, name, since-version
  std::map<std::pair<std::string, std::string>, std::vector<std::unique_ptr<ForwardImplementation>>> forward;
  std::map<std::pair<std::string, std::string>, std::vector<std::unique_ptr<BackwardImplementation>>> backward;
  std::vector<std::unique_ptr<OpDefinition>> definitions;
  Named<Inference> inference;  // by domain
  Named<ExternalFunction> functions;
  Named<Pass> passes;
  Named<Transformation> transformations;
  Named<Pipeline> pipelines;
  Named<Importer> importers;
  Named<Backend> backends;
  Named<Differentiator> differentiators;
  std::vector<std::shared_ptr<void>> withdrawn;  // no longer found, but somebody may have found them before
  std::vector<LoadedPlugin> plugins;
  std::vector<Diagnostic> load_errors;
  std::string loading;  // name of the plugin whose entry runs; given to what it registers
  std::string loading_path;
  std::string last_error;  // of the C interface
  int sequence = 0;

  std::string Owner(const std::string& given) const {
    return !given.empty() ? given : loading.empty() ? "built in" : loading;
  }
};

}  // namespace headrace
