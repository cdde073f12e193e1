#!/usr/bin/env bash
# Checks a model, runs it on seeded random inputs, and times it: run_model.sh HEADRACE MODEL
set -euo pipefail
headrace="$(readlink -f "$1")"
model="$(readlink -f "$2")"
unset BUILD_WORKING_DIRECTORY # the paths above are absolute
"$headrace" check "$model"
"$headrace" run "$model"
"$headrace" bench "$model" --seconds 1
