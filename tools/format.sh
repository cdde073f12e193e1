#!/usr/bin/env bash
# Formats what git knows: tools/format.sh [--check] [PATH...]
# C++ with clang-format, Bazel files with buildifier; a tool that is absent is skipped.
set -euo pipefail
check=
if [[ "${1:-}" == --check ]]; then
  check=check
  shift
fi
files() { git ls-files --cached --others --exclude-standard -z -- "$@"; }

paths=("${@:-.}")
mapfile -d '' cxx < <(files "${paths[@]}" | grep -zE '\.(h|cc|c|cu)$' || true)
mapfile -d '' bazel < <(files "${paths[@]}" | grep -zE '(^|/)(BUILD|WORKSPACE)$|\.(BUILD|bzl)$' || true)

status=0
if ! command -v clang-format >/dev/null; then
  echo "format.sh: no clang-format" >&2
elif (( ${#cxx[@]} )); then
  if [[ -n "$check" ]]; then mode=(--dry-run --Werror); else mode=(-i); fi
  clang-format "${mode[@]}" "${cxx[@]}" || status=1
fi
if ! command -v buildifier >/dev/null; then
  echo "format.sh: no buildifier" >&2
elif (( ${#bazel[@]} )); then
  buildifier -mode="${check:-fix}" "${bazel[@]}" || status=1
fi
exit "$status"
