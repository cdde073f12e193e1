#!/usr/bin/env bash
# What docs/training.md shows: train_digits.sh PYTHON HEADRACE DIGITS.PY [FOLDER]
set -euo pipefail
python="$1"
headrace="$(readlink -f "$2")"
script="$(readlink -f "$3")"
folder="${4:-$(mktemp -d --suffix=-digits)}"
cd "${BUILD_WORKING_DIRECTORY:-.}"
mkdir -p "$folder"
cd "$folder"
unset BUILD_WORKING_DIRECTORY # paths below are of this folder
export PYTHONDONTWRITEBYTECODE=1

"$python" "$script" make .
"$headrace" train digits.onnx --data train.npz --validate test.npz --loss cross_entropy \
  --optimizer adamw --lr 3e-3 --weight-decay 0.1 --schedule cosine \
  --epochs 25 --batch 64 --seed 0 --checkpoint run --out trained.onnx
"$python" "$script" evaluate trained.onnx test.npz
echo "in $PWD"
