#!/usr/bin/env bash
# `bazel run` starts this in the runfiles: PYTHON LIBMACHINE ARGS...
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1
exec "$1" -m benchmarks.peers.main --machine-library "$2" "${@:3}"
