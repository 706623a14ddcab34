#!/usr/bin/env bash
# A NEP fine-tuned to another potential on the fly, test of both, the result in calorine where that is installed.
#
#   bash run.sh [NPROCS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../common/lammps.sh
nprocs=${1:-2}

rm -rf check tuned.txt*
[ -f start.txt ] || lammps in.start
lammps in.fine_tune
lammps in.check
for model in start.txt tuned.txt; do
  echo "== $model, against frames of Tersoff's potential"
  dptrain test -m $model -s check | grep "average of errors" -A 20 | grep RMSE
done
if python -c "import calorine" 2> /dev/null; then python check.py; else echo "pip install calorine, then: python check.py"; fi
grep -h "Loop time" log.fine_tune
