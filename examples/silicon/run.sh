#!/usr/bin/env bash
# All runs of README.md one after the other, with a line that says how far they are; then the figure demo.png.
#
#   bash run.sh [NPROCS]      default 2
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v dptrain > /dev/null || { echo "activate the environment first: source ../../.venv/bin/activate" >&2; exit 1; }
exec dptrain demo . ${1:+-np "$1"}
