#!/usr/bin/env bash
# Learns water from GFN1-xTB by files in the folder `spool`: LAMMPS asks, `dptrain label` answers.
#
#   bash run.sh [NPROCS [further lmp options]]      default 2; options such as -var steps 100
#
# Needs the calculator: pip install ase tblite
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
nprocs=${1:-2}
shift || true
source ../common/lammps.sh

rm -rf water.dp* lcurve.out spool
dptrain label spool --calculator tblite:method=GFN1-xTB,verbosity=0 --watch >label.log &
labeler=$!
trap 'kill $labeler 2>/dev/null || true' EXIT
lammps in.water "$@"
kill $labeler
wait $labeler || true
grep -h '^learned:' log.water
tail -n 1 label.log
