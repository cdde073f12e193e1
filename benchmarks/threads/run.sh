#!/usr/bin/env bash
# `bazel run` starts this in the runfiles: PYTHON HEADRACE ARGS...
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1
exec "$1" -m benchmarks.threads.threads "${@:2}"
