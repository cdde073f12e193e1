#!/bin/sh
# Headers → a C++ file with their text in one string: what generated programs include. Usage: embed.sh HEADER… > prelude.cc
set -e
echo '#include "backends/cpu/codegen_program.h"'
echo 'namespace headrace::cpu {'
echo 'const std::string& Prelude() {'
echo '  static const std::string* text = new std::string('
echo 'R"HRHEADER(#pragma once'
echo '#include <stddef.h>'
echo '#include <stdint.h>'
echo ')HRHEADER"'
for header in "$@"; do
  case "$header" in *.hpp) continue ;; esac
  echo 'R"HRHEADER('
  # One text, no include path: local includes have come before.
  grep -v -e '^#include' -e '^#pragma once' "$header"
  echo ')HRHEADER"'
done
echo ');'
echo '  return *text;'
echo '}'
echo '}  // namespace headrace::cpu'
