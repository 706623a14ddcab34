#!/usr/bin/env bash
# A model that knows a crystal, and a trajectory that melts: selection, labels and training, three times. Tests the model before
# and after.
#
#   bash run.sh [NPROCS]      default 2
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
nprocs=${1:-2}
source ../common/lammps.sh

# errors and expected errors of copper.dp on the whole trajectory: NAME.*.out, NAME.png
examine() {
    lammps in.expect
    python -m dptrain test -m copper.dp -s trajectory -d "$1" -np "$nprocs" | grep '^Force  RMSE' | tail -n 1
    python -m dptrain plot uncertainty devi.out "$1.f.out" --column max_devi_f -o "$1.png"
}

rm -rf copper.dp* picked-* trajectory lcurve.out dptrain.data.frames*
lammps in.crystal
lammps in.trajectory
rm -f dptrain.data.frames*

examine before
for round in 1 2 3; do
    lammps in.select -var set "picked-$round"
    grep '^Fix dptrain pick:' log.select
    grep -q '^selected: 0 ' log.select && break
    lammps in.learn -var set "picked-$round"
    grep '^learned:' log.learn
done
examine after
printf '%s\n' "copper: figures: $PWD/before.png, $PWD/after.png; potential: $PWD/copper.dp"
