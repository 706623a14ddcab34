"""`subtract pair` of fix dptrain: labels without a baseline that hybrid/overlay adds in the run."""

import re

import numpy as np
import pytest

from labels import NATIVE, assert_same, label_values, native_values, system_of
from silicon import ATOMS, REFERENCE, learn

RATTLE = "displace_atoms all random 0.1 0.1 0.1 4711 units box\n"
OVERLAY = "pair_style hybrid/overlay dptrain zbl 2.0 3.0\npair_coeff * * dptrain input.json Si\npair_coeff * * zbl 14.0 14.0"
SUBTRACT = 'subtract pair zbl 2.0 3.0 coeff "* * 14 14" end'
SW = "pair_style sw\npair_coeff * * Si.sw Si\n"
ZBL = "pair_style zbl 2.0 3.0\npair_coeff * * 14 14\n"


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_labels_are_differences(ranks, silicon, tmp_path):
    """To rounding: energies, forces and virials of the two styles, each run by LAMMPS itself, subtracted."""
    silicon(f"{ATOMS}{RATTLE}{OVERLAY}\nfix t all dptrain {REFERENCE} {SUBTRACT} warmup 100 dataset data\nrun 0\n", ranks).check()
    sw, zbl = (native_values(silicon(ATOMS + RATTLE + style + NATIVE, ranks)) for style in (SW, ZBL))
    difference = [a - b for a, b in zip(sw, zbl)]
    assert np.abs(zbl[1]).max() > 0.5 and abs(zbl[0]) > 1  # the baseline matters
    assert_same(label_values(tmp_path / "data"), difference, 1e-12)


@pytest.mark.parametrize("ranks", [1, 2])
def test_driven_steps_are_those_of_the_reference(ranks, silicon):
    """The baseline acts through the overlay: what drives the atoms, and what thermo shows, is the reference alone."""
    options = f"{SUBTRACT} every 5 warmup 100"
    thermo = "thermo 5\ndump d all custom 20 {0}.dump id x y z\ndump_modify d format float %.17g\n"
    driven = silicon(learn(options, pair=OVERLAY, thermo=thermo.format("driven")), ranks).check()
    assert "baseline" not in driven.output
    columns = "thermo_style custom step pe press\nthermo_modify format float %.17g\n"
    native = silicon(ATOMS + SW + "fix n all nve\n" + columns + thermo.format("native") + "run 20\n", ranks).check()
    for name in ("PotEng", "Press"):
        expected = native.thermo()[name]
        assert np.abs(driven.thermo()[name] - expected).max() < 1e-9 * np.abs(expected).max(), name
    assert np.abs(driven.dump("driven.dump") - native.dump("native.dump")).max() < 1e-9


@pytest.mark.parametrize("ranks", [1, 2])
def test_followed_steps_are_those_of_the_reference(ranks, silicon):
    """With a trained model the reference takes the place of the model alone: forces, energy, pressure of the labeled step."""
    text = learn(f"{SUBTRACT} every 5 warmup 1 train 5 follow reference", pair=OVERLAY, run="run 10",
                 integrate="fix n all nve\ncompute p all pressure NULL virial",
                 thermo="thermo 5\ndump d all custom 5 followed.dump id x y z fx fy fz\n"
                        "dump_modify d sort id format float %.17g\n").replace("press f_t f_t[*]", "c_p[*]")
    followed = silicon(text, ranks).check()
    thermo = followed.thermo()
    rerun = NATIVE.replace("run 0", "rerun followed.dump dump x y z")
    native = silicon(f"{ATOMS}{SW}thermo 5\n{rerun}").check()
    assert np.abs(native.thermo()["PotEng"] - thermo["PotEng"]).max() < 1e-12 * np.abs(thermo["PotEng"]).max()
    for k in range(1, 7):
        expected = native.thermo()[f"c_p[{k}]"]
        assert np.abs(thermo[f"c_p[{k}]"] - expected).max() < 1e-10 * np.abs(native.thermo()["c_p[1]"]).max()
    forces = native.dump("native.dump")[:, 2:]
    assert np.abs(followed.dump("followed.dump")[:, 4:] - forces).max() < 1e-11 * np.abs(forces).max()


@pytest.mark.parametrize("ranks", [1, 2])
def test_reference_run(ranks, silicon, tmp_path):
    """A run with overlay of two styles, of which one is to be learned."""
    pair = "pair_style hybrid/overlay sw zbl 2.0 3.0\npair_coeff * * sw Si.sw Si\npair_coeff * * zbl 14.0 14.0\n"
    result = silicon(f"{ATOMS}{RATTLE}{pair}fix t all dptrain model input.json Si reference run {SUBTRACT} warmup 100 dataset data\nrun 0\n",
                     ranks).check()
    assert "baseline" not in result.output
    assert_same(label_values(tmp_path / "data"), native_values(silicon(ATOMS + RATTLE + SW + NATIVE, ranks)), 1e-11)


def test_warnings(silicon):
    """A run with the model but without its baseline would not be what was learned."""
    for pair in ("pair_style dptrain\npair_coeff * * input.json Si", OVERLAY.replace("zbl 2.0 3.0", "lj/cut 3.0").replace("zbl 14.0 14.0", "lj/cut 0.1 2.0"),
                 "pair_style hybrid dptrain\npair_coeff * * dptrain input.json Si"):
        output = silicon(learn(f"{SUBTRACT} warmup 100", pair=pair, run="run 0")).check().output
        assert "the run has no pair style zbl beside dptrain" in output, pair


def test_ghost_cutoff_of_two_styles(silicon):
    """Reference and baseline each need ghosts; the cutoff of the user comes back at the end."""
    text = learn('warmup 100 subtract pair lj/cut 7.0 coeff "* * 0.05 2.1" end', run="comm_modify cutoff 6.2\nrun 0\nrun 0\n",
                 reference='reference pair lj/cut 6.0 coeff "* * 0.05 2.1" end')
    text += "unfix t\nthermo_style one\npair_style sw\npair_coeff * * Si.sw Si\nrun 0\n"
    output = silicon(text).check().output
    assert [float(x) for x in re.findall(r"ghost atom cutoff = (\S+)", output)] == [9, 6.2]


@pytest.mark.parametrize("ranks", [1, 2])
def test_rerun_then_run(ranks, silicon, tmp_path):
    """Rerun initializes fixes for each frame, without asking for lists anew; a hybrid style of the run must not touch ours."""
    silicon(f"{ATOMS}{SW}fix n all nve\ndump d all custom 2 si.dump id type x y z\ndump_modify d format float %.17g\nrun 6\n").check()
    fix = f"fix t all dptrain model input.json Si {REFERENCE} {SUBTRACT} every 1 warmup 100 dataset data\n"
    pair = "pair_style hybrid/overlay zbl 2.0 3.0 lj/cut 4.0\npair_coeff * * zbl 14.0 14.0\npair_coeff * * lj/cut 0.05 2.1\n"
    silicon(f"{ATOMS}{pair}{fix}rerun si.dump dump x y z\nrun 1\n", ranks).check()
    labels = system_of(tmp_path / "data")
    assert labels["energy"].shape[0] == 5  # the run begins at the last frame, which is there already
    native = "thermo 1\nthermo_style custom step pe\nthermo_modify format float %.17g\nrerun si.dump dump x y z\n"
    sw, zbl = (silicon(ATOMS + style + native).check().thermo()["PotEng"] for style in (SW, ZBL))
    assert np.allclose(labels["energy"].ravel()[:4], sw - zbl, rtol=1e-12)
    # the frame of the run is at most one step away: an empty neighbor list would give an energy of zero
    assert labels["energy"].ravel()[4] == pytest.approx(labels["energy"].ravel()[3], rel=0.1)
