#!/usr/bin/env bash
# Starts LAMMPS, and a quantum code that is its client, again and again as long as LAMMPS runs:
#
#   bash run.sh "lmp -in in.nvt" "pw.x --ipi silicon:UNIX -in qe/pw.in >> pw.out 2>&1"
set -euo pipefail

bash -c "exec $1" &
lammps=$!
trap 'kill $lammps 2>/dev/null || true' EXIT
sleep 2 # LAMMPS writes learn.init.xyz, and listens
while kill -0 $lammps 2>/dev/null; do
  bash -c "$2" || echo "run.sh: the quantum code has ended with status $?"
  sleep 1
done
wait $lammps
