#!/bin/bash
# Builds the driver with every kind that the patches here add, in a copy of the workspace, and runs kinds.sdfg: usage try.sh FOLDER
set -e
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mkdir -p "$1" && cd "$1" && pwd)
git -C "$here" archive --format=tar HEAD "$(git -C "$here" rev-parse --show-toplevel)" | tar -x -C "$folder"
cd "$folder"
for patch in "$here"/*.patch; do patch -p1 < "$patch"; done
./bazelw build //driver:headrace
for backend in cpu interpreter; do
  bazel-bin/driver/headrace run "$here/kinds.sdfg" --backend "$backend" --input X=1,1.1,-3,20
done
