#!/usr/bin/env bash
# Pretraining on one potential, fine-tuning to another on the fly, test of both models, the result in DeePMD-kit.
#
#   DEEPMD=ENVIRONMENT/bin bash run.sh [NPROCS]      DEEPMD: the programs of an environment with deepmd-kit[torch,lmp] 3.2
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../common/lammps.sh
nprocs=${1:-2}
: "${DEEPMD:?set DEEPMD to the folder bin of an environment with deepmd-kit[torch,lmp]}"

rm -rf check pretrained.pth* tuned.pth*
[ -f dpa1.pth ] || "$DEEPMD/python" make_model.py
lammps in.pretrain
lammps in.fine_tune
lammps in.check
for model in pretrained.pth tuned.pth; do
  echo "== $model, against frames of Tersoff's potential"
  dptrain test -m $model -s check | grep "average of errors" -A 20 | grep RMSE
done
lammps in.run -var style dptrain -var coeff "* * tuned.pth Si" -var dump dptrain.dump
"$DEEPMD/lmp" -in in.run -var style "deepmd tuned.pth" -var coeff "* * Si" -var dump deepmd.dump -log log.deepmd -screen none
python - <<'PYTHON'
def forces(name):
    return [[float(word) for word in line.split()[1:]] for line in open(name).read().split("ITEM: ATOMS")[1].splitlines()[1:]]
pairs = zip(forces("dptrain.dump"), forces("deepmd.dump"))
print("largest difference of force components, eV/A: %.1e" % max(abs(a - b) for p, q in pairs for a, b in zip(p, q)))
PYTHON
grep -h "Loop time" log.fine_tune
