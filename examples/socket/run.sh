#!/usr/bin/env bash
# Learns water from GFN1-xTB: one client with tblite, and LAMMPS.
#
#   bash run.sh [NPROCS [further lmp options]]      default 2; options such as -var steps 100
#
# Needs the calculator: pip install ase tblite
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
nprocs=${1:-2}
shift || true
export OMP_NUM_THREADS=1

rm -f water.dp* lcurve.out
python -m dptrain client --calculator tblite:method=GFN1-xTB,verbosity=0 --socket unix:water --wait 60 learn.init.xyz >client.log &
client=$!
trap 'kill $client 2>/dev/null || true' EXIT
mpiexec -n "$nprocs" lmp -log log.water -screen none -in in.water "$@"
wait $client
grep -h '^learned:' log.water
tail -n 1 client.log
