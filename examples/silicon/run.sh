#!/usr/bin/env bash
# Learns silicon, runs dynamics on the learned potential, compares with the reference, draws the figures.
#
#   bash run.sh [NPROCS [further lmp options]]      default 2; options such as -var train 20
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
nprocs=${1:-2}
shift || true
source ../common/lammps.sh

rm -f silicon.dp* statistics.json lcurve.out
start=$SECONDS
printf '%s\n' "silicon: learning from Stillinger-Weber forces on $nprocs ranks"
lammps in.learn "$@"
grep -h '^learned:' log.learn
printf '%s\n' "silicon: learning took $((SECONDS - start)) s"

lammps in.reference -var melt 0
lammps in.compare -var part crystal
printf '%s\n' "silicon: independent trajectory of the reference"
python -m dptrain.plot reference.crystal.dump predicted.crystal.dump -o parity.png
python -m dptrain.plot lcurve.out -o lcurve.png

lammps in.run
grep -h '^NVE:' log.run
awk '/^Loop time/ { speed = 1e6 * $4 / ($9 * $12) } END { printf "NVE: %.2f us/atom/step\n", speed }' log.run
printf '%s\n' "silicon: figures: $PWD/lcurve.png, $PWD/parity.png; potential: $PWD/silicon.dp"
