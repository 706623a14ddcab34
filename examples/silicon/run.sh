#!/usr/bin/env bash
# Learns silicon through melting, compares with the reference, runs the melt on the learned potential, draws the figures.
#
#   bash run.sh [NPROCS [further lmp options]]      default 2; options such as -var train 20
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
nprocs=${1:-2}
shift || true
source ../common/lammps.sh

rm -f silicon.dp* lcurve.out
start=$SECONDS
printf '%s\n' "silicon: learning crystal and melt from Stillinger-Weber forces on $nprocs ranks"
lammps in.learn "$@"
grep -h '^learned:' log.learn
printf '%s\n' "silicon: learning took $((SECONDS - start)) s"

lammps in.reference
lammps in.compare
for part in crystal melt; do
  printf '%s\n' "silicon: independent trajectory of the reference, $part"
  dptrain plot parity "reference.$part.dump" "predicted.$part.dump" -o "parity.$part.png"
done
dptrain plot lcurve.out -o lcurve.png

printf '%s\n' "silicon: a melt of 512 atoms on the learned potential, and on the reference"
lammps in.run -var potential sw -var rdf reference
lammps in.run
grep -h '^NVE:' log.run
awk '/^Loop time/ { speed = 1e6 * $4 / ($9 * $12) } END { printf "NVE: %.2f us/atom/step\n", speed }' log.run
python plot_rdf.py
printf '%s\n' "silicon: figures in $PWD: lcurve.png, parity.crystal.png, parity.melt.png, rdf.png; potential: silicon.dp"
