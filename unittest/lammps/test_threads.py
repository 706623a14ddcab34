"""Threads inside a rank, where Kokkos has them: how many there are, and that they change rounding only."""

import os
import re

import numpy as np
import pytest

from lammps_runner import REFERENCE
from silicon import learn, write_input

CORES = len(os.sched_getaffinity(0))
INPUT = f"""units metal
atom_modify map yes
read_data {REFERENCE}/two_side/liquid.data
pair_style dptrain
pair_coeff * * {REFERENCE}/two_side/model.dp O H
dump report all custom 1 forces.dump id fx fy fz
dump_modify report sort id format float %.17g
run 0
"""


def threads(result):
    """What the log says; 1 where it says nothing."""
    found = re.findall(r"dptrain: (\d+) threads per MPI rank", result.check().output)
    return int(found[-1]) if found else 1


@pytest.fixture
def threaded(lammps):
    """The function `lammps`, in builds whose Kokkos has threads."""
    if threads(lammps(INPUT, OMP_NUM_THREADS="2")) == 1:
        pytest.skip("Kokkos has no OpenMP in this build: one thread per rank")
    return lammps


def test_cores_are_divided_over_the_ranks(threaded):
    """Without OMP_NUM_THREADS (here: empty) all cores are used, and none twice."""
    for ranks in (1, 2):
        assert threads(threaded(INPUT, ranks, OMP_NUM_THREADS="")) == max(1, CORES // ranks)


def test_the_environment_decides(threaded):
    for number in (1, 2, 3):
        assert threads(threaded(INPUT, OMP_NUM_THREADS=str(number))) == number


def test_waiting_threads_fall_asleep(lammps):
    """The first style sets how long they spin, unless the user has chosen."""
    def spins(**environment):
        text = "pair_style dptrain\nvariable spins getenv GOMP_SPINCOUNT\nprint \"RESULT spins $(v_spins)\"\n"
        result = lammps(text, **environment)
        return result.value("spins") if result.status == 0 else None

    assert spins() == 1000
    assert spins(GOMP_SPINCOUNT="5") == 5
    assert spins(OMP_WAIT_POLICY="active") is None


def test_forces_do_not_depend_on_threads(threaded):
    """Sums in another order: some units in the last place of the largest force. Equal numbers of threads: equal bits."""
    def forces(ranks, number):
        return threaded(INPUT, ranks, OMP_NUM_THREADS=str(number)).check().dump("forces.dump")[:, 1:]

    one = forces(1, 1)
    for ranks, number in ((2, 1), (1, 2), (2, 2), (1, 3)):
        assert np.abs(forces(ranks, number) - one).max() < 1e-12 * np.abs(one).max()
    assert (forces(1, 2) == forces(1, 2)).all()


def test_training_with_a_model_of_its_own(threaded, tmp_path):
    """No pair style dptrain is there to start the threads. Ten steps of Adam magnify a rounding of 1e-14 by less than 1e6."""
    write_input(tmp_path)
    text = learn("model input.json Si every 5 warmup 2 train 10 optimizer adam", pair="pair_style sw\npair_coeff * * Si.sw Si",
                 reference="reference run", run="run 5")
    one, two = threaded(text, OMP_NUM_THREADS="1"), threaded(text, OMP_NUM_THREADS="2")
    assert (threads(one), threads(two)) == (1, 2)
    assert two.thermo()["f_t"][-1] == pytest.approx(one.thermo()["f_t"][-1], rel=1e-8)
