#!/usr/bin/env bash
# Verifies a model in one configuration, and that each of the named mutations of it fails there:
#   run.sh <spin> <cc> <model.pml> <work directory> [-DNAME=value...] [-- MUTATION...]
# A mutation is a line "#define NAME mutated(n)" of the model. Prints what was searched.
set -euo pipefail
spin=$1 cc=$2 model=$3 work=$4
shift 4
defines=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  defines+=("$1")
  shift
done
[ $# -eq 0 ] || shift

name=$(basename "$model" .pml)
mkdir -p "$work"
cp "$(dirname "$model")/machine.h" "$model" "$work/"
cd "$work"
"$spin" ${defines[@]+"${defines[@]}"} -a "$name.pml" >spin.log 2>&1 || { cat spin.log; exit 1; }
"$cc" -O1 -w -DSAFETY -DCOLLAPSE -DNOFAIR -DVECTORSZ=2048 -DMEMLIM=2048 -o verify pan.c

# search N: the verifier's report on mutation N in `report`.
search() { report=$(MUTATION=$1 ./verify -E -m100000 -w21 2>&1) || true; }
found() { sed -n "$1" <<<"$report"; }
errors() { found 's/.*errors: \([0-9]*\).*/\1/p'; }
states() { found 's/^ *\([0-9.e+]*\) states, stored.*/\1/p'; }

search 0
if [ "$(errors)" != 0 ] || grep -q -e 'max search depth too small' -e 'Search not completed' <<<"$report"; then
  echo "$report"
  echo "$name ${defines[*]-}: does not hold; the way to it:"
  MUTATION=0 ./verify -E -r 2>/dev/null | grep -v '^[[:space:]]*\(byte\|bit\)' | cut -c1-120 | tail -n 100
  exit 1
fi
echo "$name ${defines[*]-}: holds in $(states) states, $(found 's/^ *\([0-9.e+]*\) transitions.*/\1/p') transitions"
failed=0
for mutation; do
  number=$(sed -n "s/^#define $mutation mutated(\([0-9]*\)).*/\1/p" "$name.pml")
  search "${number:?no mutation $mutation}"
  if [ "$(errors)" = 0 ]; then
    echo "  $mutation: is not noticed"
    failed=1
  else
    echo "  $mutation: noticed after $(states) states"
  fi
done
exit $failed
