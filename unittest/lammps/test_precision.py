"""The keywords `precision` and `knots` of pair style and fix. How far single precision is from DeePMD-kit's numbers is
in test_reference_cases.py."""

import h5py
import numpy as np
import pytest

from lammps_runner import REFERENCE
from silicon import ATOMS, PAIR, learn, write_input

MODEL = REFERENCE / "two_side" / "model.dp"
SYSTEM = f"units metal\natom_modify map yes\nread_data {REFERENCE}/two_side/liquid.data\n"
REPORT = """dump report all custom 1 {name}.dump id fx fy fz
dump_modify report sort id format float %.17g
run 0
"""
OPTIONS = "every 5 warmup 2 train 10"
FROM_RUN = {"pair": "pair_style sw\npair_coeff * * Si.sw Si", "reference": "reference run"}


@pytest.fixture
def silicon(lammps, tmp_path):
    write_input(tmp_path)
    return lammps


def forces(lammps, words, name):
    text = f"{SYSTEM}pair_style dptrain {words}\npair_coeff * * {MODEL} O H\n{REPORT.format(name=name)}"
    return lammps(text).check().dump(f"{name}.dump")[:, 1:]


def test_restart_file_keeps_the_precision(lammps):
    """Forces after read_restart are those of the precision that it was written in, to the last bit."""
    double, single = forces(lammps, "", "double"), forces(lammps, "precision single", "single")
    assert 0 < np.abs(single - double).max() < 1e-5 * np.abs(double).max()
    lammps(f"{SYSTEM}pair_style dptrain precision single\npair_coeff * * {MODEL} O H\nwrite_restart water.restart\n").check()
    again = lammps(f"read_restart water.restart\npair_coeff * * {MODEL} O H\n{REPORT.format(name='again')}").check()
    assert (again.dump("again.dump")[:, 1:] == single).all()


def test_new_model_learns_in_single_precision(silicon):
    """The fix makes the model: it has the precision of the pair style, and follows the training in double. The frames are
    those of the reference. The first ten steps magnify a rounding of 1e-7 little; Adam divides by small numbers later."""
    double, single = (silicon(learn("every 5 warmup 2 train 40 follow reference optimizer adam", run="run 20",
                                    pair=f"pair_style dptrain precision {p}\npair_coeff * * input.json Si",
                                    thermo="thermo 5\n")).check().thermo() for p in ("double", "single"))
    assert single["f_t"][-1] != double["f_t"][-1]
    assert single["f_t[4]"][-1] < 0.5 * single["f_t[4]"][1]
    assert single["f_t[4]"][-1] == pytest.approx(double["f_t[4]"][-1], rel=0.05)


def test_keywords_of_the_fix(silicon):
    """With a model of its own the fix has the keywords: each changes the arithmetic by no more than it may. 20 steps of
    Adam magnify differences by a factor below 1e3."""
    def loss(words):
        text = learn(f"model input.json Si {OPTIONS} optimizer adam {words}", run="run 5", **FROM_RUN)
        return silicon(text).check().thermo()["f_t"][-1]

    plain = loss("")
    assert loss("precision double knots auto") == plain
    for words, tolerance in (("precision single", 1e-3), ("knots 65", 1e-3), ("precision mixed", 0.2)):
        assert plain != loss(words) == pytest.approx(plain, rel=tolerance), words


def test_resume_in_single_precision(silicon):
    """To the same bits as without interruption."""
    words = f"model input.json Si {OPTIONS} precision single save 1000 si.dp"
    whole = silicon(learn(words, run="run 10\nrun 10", **FROM_RUN)).check().thermo()
    silicon(learn(words, run="run 10\nwrite_restart si.restart", **FROM_RUN)).check()
    fix = learn(words + " resume si.dp", run="run 10", **FROM_RUN).split("timestep 0.001\n")[1]
    second = silicon("read_restart si.restart\n" + fix).check()
    assert second.thermo()["f_t"][-1] == whole["f_t"][-1]
    assert "precision" not in second.output.split("resumed from")[1].splitlines()[1]


def test_resume_in_another_precision(silicon):
    silicon(learn(f"{OPTIONS} save 1000 si.dp", run="run 5")).check()
    pair = "pair_style dptrain precision single\npair_coeff * * si.dp.ckpt Si"
    second = silicon(learn(f"{OPTIONS} resume si.dp", pair=pair, run="run 5"), 2).check()
    assert "the steps before were done in precision double, those from here on are done in precision single" in second.output
    assert np.isfinite(second.thermo()["f_t"]).all() and second.thermo()["f_t[7]"][-1] > 20


def knots(path):
    """Knots of the embedding tables in a checkpoint."""
    found = []
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.append(item[2]) if name.endswith("auxiliary_state") else None)
    assert len(found) == 1
    return found[0]


def test_resume_in_another_precision_makes_its_own_table(silicon, tmp_path):
    """A table for float32 has fewer knots than one for float64, and each training has those of its precision: at once, not only
    after the next check of the knots."""
    def learned(precision, steps, words, run):
        pair = f"pair_style dptrain precision {precision}\npair_coeff * * input.json Si"
        silicon(learn(f"every 5 warmup 2 train {steps} {words}", pair=pair, run=run)).check()

    own = {}
    for precision in ("double", "single"):
        learned(precision, 7, f"save 1000 {precision}.dp", "run 7")
        own[precision] = knots(tmp_path / f"{precision}.dp.ckpt")
    assert own["single"] < 0.6 * own["double"]
    for before, after in (("single", "double"), ("double", "single")):
        learned(after, 1, f"save 1000 resumed.dp resume {before}.dp", "run 1")
        assert knots(tmp_path / "resumed.dp.ckpt") == pytest.approx(own[after], rel=0.2), after


def test_fix_without_a_model_of_its_own(message, tmp_path):
    """The message comes before anything is looked for."""
    write_input(tmp_path)
    result = message(f"{ATOMS}{PAIR}\nfix t all dptrain reference pair sw coeff \"* * Si.sw Si\" end precision double\n")
    assert result.status != 0 and "pair_style dptrain precision ..." in result.output
