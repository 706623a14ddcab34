#!/usr/bin/env bash
# Learning run, its figure, test on another run of the reference.
#
#   bash run.sh [NPROCS [further lmp options]]      default 2; options such as -var accuracy 2% -var steps 5000
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
bash ../common/active.sh silicon.dp "$@"
