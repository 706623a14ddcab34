#!/usr/bin/env bash
# Starts LAMMPS, and a quantum code that is its client, again and again as long as LAMMPS runs. Two words more name an output and a text
# that stands in it for each calculation that has not converged, where the code sends such a label all the same:
#
#   bash run.sh "lmp -in in.nvt" "pw.x --ipi silicon:UNIX -in pw.in >> pw.out 2>&1"
#   bash run.sh "lmp -in in.nvt" "cp2k -i si.inp >> cp2k.out 2>&1" cp2k.out "NOT converged"
set -euo pipefail

output=${3:-} text=${4:-}
count() { if [[ -e $output ]]; then grep -c -- "$text" "$output" || true; else echo 0; fi; }
before=$(count) # those of earlier runs

setsid bash -c "exec $1" & # a session of its own, which ends with all that it has started
lammps=$!
trap 'kill -- -$lammps 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM
sleep 2 # LAMMPS writes learn.init.xyz, and listens
quick=0
while kill -0 $lammps 2>/dev/null; do
  start=$SECONDS status=0
  bash -c "$2" || status=$?
  quick=$((status != 0 && SECONDS - start < 10 ? quick + 1 : 0))
  [[ $status == 0 ]] || echo "run.sh: the quantum code has ended with status $status"
  if [[ $quick == 3 ]]; then
    echo "run.sh: it ends as soon as it has begun, three times: look into its output; Ctrl-C ends LAMMPS, too"
  fi
  sleep $((quick < 3 ? 1 : 10))
done
status=0
wait $lammps || status=$?
wrong=$(($(count) - before))
if [[ $wrong -gt 0 ]]; then
  echo "run.sh: $wrong calculations in $output have not converged ('$text'): their labels are wrong"
  [[ $status != 0 ]] || status=1
fi
exit $status
