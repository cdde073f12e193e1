#!/usr/bin/env bash
# Runs `PYTHON FILE ARGS...` as tools/python_test.bzl says; Bazel starts it in the runfiles.
set -euo pipefail
python="$1"
shift
# Runfiles are links into the checkout, which must stay clean.
export PYTHONDONTWRITEBYTECODE=1
exec "$python" tools/run_unittest.py "$@"
