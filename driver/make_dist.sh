#!/usr/bin/env bash
# make_dist.sh OUT.tar HEADRACE PLUGIN... -- LIB...: the folder headrace/ with the command, plugins/ and lib/. Libraries of
# the system that these need go to lib/ too, but not those of the compiler and of glibc, which every machine has its own of.
set -euo pipefail
out="$1"
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/headrace/plugins" "$tree/headrace/lib"
cp -L "$2" "$tree/headrace/headrace"
shift 2
to=plugins
for file; do
  if [[ "$file" == -- ]]; then to=lib; else cp -L "$file" "$tree/headrace/$to/"; fi
done

own='^(libc|libm|libdl|libpthread|librt|libresolv|libstdc\+\+|libgcc_s)\.so'
ldd "$tree/headrace/headrace" "$tree"/headrace/*/*.so |
  awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u |
  while read -r name path; do
    [[ "$path" == "$tree"/* || "$name" =~ $own || -e "$tree/headrace/lib/$name" ]] || cp -L "$path" "$tree/headrace/lib/$name"
  done
tar -cf "$out" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u+w,go-w -C "$tree" headrace
