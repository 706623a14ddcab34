#!/usr/bin/env bash
# In the folder of an active example: learns from nothing while the run goes on, draws the course of the run, tests the
# potential on another run of the reference.
#
#   bash ../common/active.sh MODEL [NPROCS [further lmp options]]      MODEL: what in.active writes
set -euo pipefail
model=$1
nprocs=${2:-2}
shift $(($# < 2 ? $# : 2))
source "$(dirname "${BASH_SOURCE[0]}")/lammps.sh"

rm -rf "$model"* labels test lcurve.out detail.* dptrain.data.frames*
lammps in.active "$@"
grep -h '^learned:' log.active
python -m dptrain plot log.active -o active.png

lammps in.reference "$@" -var set test -var every 100
rm -f dptrain.data.frames*
python -m dptrain test -m "$model" -s test -d detail -np "$nprocs"
python -m dptrain plot parity detail -o parity.png
printf '%s\n' "figures: $PWD/active.png, $PWD/parity.png; potential: $PWD/$model"
