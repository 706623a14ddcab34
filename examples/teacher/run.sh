#!/usr/bin/env bash
# Learns a perovskite from a foundation model: the teacher in its own environment, and LAMMPS.
#
#   TEACHER=teacher bash run.sh [NPROCS [further lmp options]]      default 1; options such as -var steps 1000
#
# Needs the teacher: python3 -m venv teacher && teacher/bin/pip install sevenn
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
nprocs=${1:-1}
shift || true
export OMP_NUM_THREADS=1

rm -f cspbi3.dp* lcurve.out learn.init.xyz
dptrain client --python "${TEACHER:-teacher}" --threads 1 --calculator sevenn:7net-0 --socket unix:perovskite learn.init.xyz >teacher.log 2>&1 &
teacher=$!
trap 'kill $teacher 2>/dev/null || true' EXIT
mpiexec -n "$nprocs" lmp -log log.teacher -screen none -in in.learn "$@"
grep -E 'reference calls|accuracy: |error bars: ' log.teacher
