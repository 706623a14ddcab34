#!/usr/bin/env bash
# Learns silicon at four temperatures in one job.
#
#   bash run.sh [NPROCS of each partition [further lmp options]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
nprocs=${1:-1}
shift || true
source ../common/lammps.sh
rm -f silicon.dp* lcurve.out log.lammps* screen.*
mpiexec -n $((4 * nprocs)) lmp -partition "$nprocs" "$nprocs" "$nprocs" "$nprocs" -in in.silicon "$@" || {
    tail -n 5 screen.* >&2
    exit 1
}
grep -h '^at ' screen.*
printf '%s\n' "potential: $PWD/silicon.dp; course of each partition: log.lammps.0 to 3"
