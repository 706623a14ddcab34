#!/usr/bin/env bash
# Learns the crystal in a small box, then a melting spot in a large one, and compares both models with the reference there.
#
#   bash run.sh [NPROCS [further lmp options]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
nprocs=${1:-2}
shift $(($# < 1 ? $# : 1))
source ../common/lammps.sh

rm -f crystal.dp* silicon.dp* forces.* spot.data
lammps in.small
lammps in.spot "$@"
grep -h -e '^learned' -e '^  cut-outs:' log.spot
lammps in.forces
for model in crystal.dp silicon.dp; do lammps in.forces -var style dptrain -var file $model; done
python compare.py 12
