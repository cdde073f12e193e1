#!/usr/bin/env bash
# `bazel run` starts this in the runfiles: PYTHON ENGINE ARGS...
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1
export HEADRACE_PLUGIN_PATH="$PWD/driver/plugins"
exec "$1" -m benchmarks.eager.ops "${@:2}"
