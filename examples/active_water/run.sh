#!/usr/bin/env bash
# Learns liquid water from GFN1-xTB while it moves: clients with tblite, and LAMMPS.
#
#   bash run.sh [NPROCS [further lmp options]]      default 1: the client needs a core too; options such as -var steps 2000
#
# CLIENTS: their number (default 1). Needs the calculator: pip install ase tblite. CLIENT_PYTHON names the Python that has it, where that is another one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
nprocs=${1:-1}
shift || true
export OMP_NUM_THREADS=1

rm -rf water.dp* labels lcurve.out client*.log
start=$SECONDS
clients=()
trap 'kill "${clients[@]}" 2>/dev/null || true' EXIT
for k in $(seq "${CLIENTS:-1}"); do
    "${CLIENT_PYTHON:-python}" -m dptrain client --calculator tblite:method=GFN1-xTB,verbosity=0 --socket unix:active_water \
        --wait 60 learn.init.xyz >"client$k.log" &
    clients+=($!)
done
mpiexec -n "$nprocs" lmp -log log.water -screen none -in in.water "$@"
wait "${clients[@]}"
grep -h '^learned:' log.water
python -m dptrain.plot log.water -o active.png
tail -q -n 1 client*.log
printf '%s\n' "water: $((SECONDS - start)) s; figure: $PWD/active.png, potential: $PWD/water.dp"
