// What the parser of the command line could not make sense of, as an error that names the right word.
#pragma once
#include <CLI/CLI.hpp>

#include "ir/base/status.h"

namespace headrace {

Status UsageStatus(const CLI::App& app, const CLI::ParseError& e);
// CLI11 writes an option's description on one line; terminals have 80 columns.
std::string Wrapped(const std::string& help);

}  // namespace headrace
