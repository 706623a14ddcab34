"""`explore N`: short runs after a run, hotter and in other cells, whose unknown configurations are labeled and learned."""

import re

import numpy as np
import pytest
from active import stored_frames
from labels import EXACT, expect_right_labels
from silicon import REFERENCE, learn, write_input
from test_bad_input import stops_with

EAGER = "mode active every 5 warmup 4 train 20 audit 0 holdout 0 accuracy 1%"
LENNARD_JONES = 'reference pair lj/cut 6.0 coeff "* * 0.05 2.1" modify "shift yes" end'
BOX = 10.862
VOLUMES = (1.0, 1.06**3, 0.96**3)


def explored(output):
    """(step, temperature, calls) of each message."""
    found = re.findall(r"explored from step (\d+), at (\d+) K, with volumes of 1, 1.19, 0.885 times that of the run: (\d+) reference calls", output)
    return [tuple(int(number) for number in one) for one in found]


SALT = learn(f"{EAGER} explore 30 save 100000 si.dp", run="run 50", pair="pair_style dptrain\npair_coeff * * input.json Na Cl",
             reference='reference pair born/coul/long 5.0 coeff "1 1 0.2637 0.317 2.340 1.048 0.499" coeff "1 2 0.2110 0.317 2.755 6.991 8.675" '
                       'coeff "2 2 0.1582 0.317 3.170 72.40 145.4" kspace "pppm 1e-5" end')


def salt(text):
    """The same for 64 ions in place of silicon."""
    return text.replace("atom_style atomic", "atom_style charge").replace(
        "lattice diamond 5.431", "lattice custom 5.64 a1 1 0 0 a2 0 1 0 a3 0 0 1 basis 0 0 0 basis 0.5 0.5 0 basis 0.5 0 0.5 basis 0 0.5 0.5 "
        "basis 0.5 0 0 basis 0 0.5 0 basis 0 0 0.5 basis 0.5 0.5 0.5").replace("create_box 1", "create_box 2").replace(
        "create_atoms 1 box", "create_atoms 1 box basis 5 2 basis 6 2 basis 7 2 basis 8 2").replace(
        "mass 1 28.0855", "mass 1 22.99\nmass 2 35.45\nset type 1 charge 1\nset type 2 charge -1")


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_what_lies_outside_is_labeled(ranks, lammps, tmp_path):
    """Frames of other cells, with the labels of the reference for these cells; the steps go on behind those of the run."""
    write_input(tmp_path)
    result = lammps(learn(f"{EAGER} explore 60 save 100000 si.dp", run="run 50", reference=LENNARD_JONES), ranks).check()
    ((step, temperature, calls),) = explored(result.output)
    assert step == 50 and calls >= 3
    frames = stored_frames(tmp_path / "si.dp.frames")
    expect_right_labels(frames, EXACT)
    later = [frame for frame in frames if frame["step"] > 50]
    volumes = {round(np.linalg.det(frame["box"].reshape(3, 3)) / BOX**3, 3) for frame in later}
    # in the stretched one forces, and so their errors, may be small
    assert round(VOLUMES[2], 3) in volumes and volumes <= {round(volume, 3) for volume in VOLUMES}
    assert len(later) <= calls <= 30 and all(frame["step"] <= 50 + 3 * 61 for frame in later)
    # the atoms begin with 2000 K at their places, and have half of it later
    assert 1.5 * 600 < temperature < 1.5 * 2000


@pytest.mark.parametrize("ranks", [1, 2])
def test_energies_have_no_offset(ranks, lammps, tmp_path):
    """The energy bias is fitted at the end: energies of what was learned are right in the mean, to rounding."""
    write_input(tmp_path)
    text = learn(f"{EAGER} explore 60 save 100000 si.dp dataset data", run="run 50", reference=LENNARD_JONES)
    lammps(f"{text}unfix t\ndptrain test -m si.dp -s data -d detail\n", ranks).check()
    label, found = np.loadtxt(tmp_path / "detail.e.out").T
    assert len(label) > 5 and np.abs(found - label).max() > 1e-3
    assert abs((found - label).mean()) < 1e-8


def test_without_training(lammps, tmp_path):
    """With `train 0` configurations are labeled, and the model stays as it is, with its energy bias."""
    write_input(tmp_path)
    lammps(learn(f"{EAGER} save 100000 old.dp", run="run 50", reference=LENNARD_JONES)).check()
    text = learn(f"{EAGER.replace('train 20', 'train 0')} explore 30 save 100000 si.dp dataset data", run="run 50", reference=LENNARD_JONES)
    result = lammps(text.replace("input.json", "old.dp") + "unfix t\n" +
                    "".join(f"dptrain test -m {name}.dp -s data -d {name}\n" for name in ("old", "si"))).check()
    ((_, _, calls),) = explored(result.output)
    assert calls >= 1
    for quantity in ("e", "f"):
        old, new = (np.loadtxt(tmp_path / f"{name}.{quantity}.out") for name in ("old", "si"))
        assert len(new) > 5 and np.array_equal(old, new)


def test_the_run_stays_where_it_is(lammps, tmp_path):
    """Atoms, box and step are those of the end of the run."""
    write_input(tmp_path)
    dump = "write_dump all custom {} id x y z vx vy vz modify sort id format float %.17g\n"
    text = learn(f"{EAGER} explore 30 temperature 900 strain 0.02", run="run 50")
    result = lammps(text.replace("run 50\n", f"run 50 post no\n{dump.format('a.dump')}run 0\n{dump.format('b.dump')}")).check()
    assert "explored from step 50, at 900 K, with volumes of 1, 1.06, 0.961 times" in result.output
    a, b = (result.dump(name) for name in ("a.dump", "b.dump"))
    moved = b[:, 1:4] - a[:, 1:4]
    assert np.abs(moved - BOX * np.round(moved / BOX)).max() < 1e-12  # the second run wraps them
    assert np.array_equal(a[:, 4:], b[:, 4:])
    assert all((tmp_path / name).read_text().splitlines()[1] == "50" for name in ("a.dump", "b.dump"))
    assert (tmp_path / "a.dump").read_text().splitlines()[5:8] == (tmp_path / "b.dump").read_text().splitlines()[5:8]  # the box


def test_colder_than_the_run(lammps, tmp_path):
    """A factor in place of a temperature."""
    write_input(tmp_path)
    result = lammps(learn(f"{EAGER} explore 20 temperature 1.5", run="run 50")).check()
    assert "explore: the temperature of 1.5 K is below the" in result.output


def test_an_accuracy_without_its_percent_sign(lammps, tmp_path):
    write_input(tmp_path)
    result = lammps(learn(EAGER.replace("1%", "50"), run="run 50")).check()
    assert "the accuracy of 50 is a force error above the root mean square" in result.output


def test_only_after_runs_that_have_asked(lammps, tmp_path):
    """The second run asks nobody, and so there is nothing new to look for."""
    write_input(tmp_path)
    result = lammps(learn(f"{EAGER} explore 20 limit 1000", run="run 50\nvelocity all set 0 0 0\nrun 0")).check()
    assert [step for step, _, _ in explored(result.output)] == [50]
    assert "nothing is explored: the reference was not asked in this run" in result.output


def test_the_same_seed_gives_the_same(lammps, tmp_path):
    write_input(tmp_path)
    runs = [lammps(learn(f"{EAGER} explore 30 seed 5", run="run 50")).check().output for _ in range(2)]
    assert explored(runs[0]) == explored(runs[1]) and len(explored(runs[0])) == 1


def test_charges(lammps, tmp_path):
    """A reference with charges and kspace computes other cells, too."""
    write_input(tmp_path, types=("Na", "Cl"))
    result = lammps(salt(SALT)).check()
    assert len(explored(result.output)) == 1
    frames = stored_frames(tmp_path / "si.dp.frames")
    assert {len(frame["coord"]) for frame in frames} == {64}
    # cohesion of NaCl, with and without the strain: some -4 eV an atom; a label without charges would be far above
    assert all(-4.5 < frame["energy"] / 64 < -3.0 for frame in frames)


def test_the_jump_is_counted(lammps, tmp_path):
    """The model is another one after exploring: total energy less the jumps goes on as before, also where nothing is set up anew."""
    write_input(tmp_path)
    text = learn("mode active every 5 train 40 accuracy 0.05 explore 60", run="run 100\nrun 20 pre no", thermo="thermo 1\n")
    text = text.replace("thermo_style custom step pe", "variable sum equal f_t[19]\nthermo_style custom step etotal v_sum pe")
    result = lammps(text).check()
    assert len(explored(result.output)) >= 1
    rows = result.thermo()
    conserved = rows["TotEng"] - rows["v_sum"]
    assert np.ptp(conserved[-25:]) < 0.05, conserved[-25:]  # eV, of 64 atoms: a jump is some eV


def test_a_reference_that_fails_there(lammps, tmp_path):
    """At 60000 K atoms come closer than a pair style with tables takes: what the run has learned is there all the same."""
    write_input(tmp_path, types=("Na", "Cl"))
    text = SALT.replace("explore 30", "explore 200 temperature 60000")
    result = lammps(salt(text)).check()
    assert (tmp_path / "si.dp").exists() and "reference calls" in result.output


@pytest.mark.parametrize("words, said", [
    ("explore -1", "explore -1 is not possible: use a whole number not below 0"),
    ("explore 10 temperature 0", "explore ... temperature 0 is not possible"),
    ("explore 10 strain 0.5", "explore ... strain 0.5 is not possible"),
    ("explore 10 cutout 6", "explore and cutout contradict each other"),
    ("explore 10 limit 5 stop", "explore and limit ... stop contradict each other"),
    ('explore 10 baseline pair lj/cut 6.0 coeff "* * 0.03 2.1" end', "explore does not know the baseline"),
    ("explore", "explore"),
])
def test_bad_input(words, said, message, tmp_path):
    write_input(tmp_path)
    stops_with(message(learn(f"{EAGER} {words}")), said)


def test_two_types_of_one_element(message, tmp_path):
    write_input(tmp_path)
    text = learn(f"{EAGER} explore 10", pair="pair_style dptrain\npair_coeff * * input.json Si Si", reference=LENNARD_JONES)
    stops_with(message(text.replace("create_box 1", "create_box 2").replace("mass 1", "mass *")), "atom types 1 and 2 are both Si")


def test_a_slab(message, tmp_path):
    write_input(tmp_path)
    stops_with(message(learn(f"{EAGER} explore 10").replace("atom_modify", "boundary p p s\natom_modify")),
               "explore needs a box that is periodic in all directions, or in none")


@pytest.mark.parametrize("options, reference, said", [
    ("mode passive explore 10", REFERENCE, "explore needs 'mode active'"),
    ("mode active explore 10", "reference values energy c_pe forces f_f[*] end", "explore: 'reference values' labels the configurations of the run only"),
    ("mode active explore 10 dataset d", "reference run", "explore: 'reference run' labels the configurations of the run only"),
])
def test_who_cannot(options, reference, said, message, tmp_path):
    write_input(tmp_path)
    stops_with(message(learn(options, reference=reference)), said)
