#!/usr/bin/env bash
# From reference data to a potential in use, without a training during a simulation: data sets, statistics, training,
# test, figures, model file, dynamics.
#
#   bash run.sh [NPROCS [INPUT]]      default 2 input.json; se_e2_a.json for DeePMD-kit's descriptor
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
nprocs=${1:-2}
input=${2:-input.json}
source ../common/lammps.sh

rm -rf train valid model.ckpt* checkpoint lcurve.out out.json detail.* cu.dp dptrain.data.frames*
lammps in.data -var set train
lammps in.data -var set valid -var seed 2 -var steps 1000

dptrain stat -s train -r 5.0 -o statistics.json -np "$nprocs"
dptrain train "$input" --dry-run -np "$nprocs"
dptrain train "$input" -np "$nprocs"
dptrain test -m model.ckpt.dp -s valid -d detail -np "$nprocs"
dptrain plot lcurve.out -o lcurve.png
dptrain plot parity detail -o parity.png
dptrain convert model.ckpt.dp cu.dp
lammps in.run
rm -f dptrain.data.frames*
grep -h '^NVE:' log.run
