"""`pair_style dptrain watch`: whether runs say that they leave what was learned."""

import re

import numpy as np
import pytest
from ase.io import read

from lammps_runner import frames_of, run_lammps
from silicon import ATOMS, PAIR, REFERENCE, learned_crystal, write_input
from test_potentials import FOLDER

SI = "pair_style dptrain {0}\npair_coeff * * si.dp Si\n"
LINE = re.compile(r"Pair dptrain: watched (\d+) configurations: (inside|outside) of what was learned(?: at (\d+) of them)?")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Folder with si.dp, which has learned a crystal at 300 K."""
    folder = tmp_path_factory.mktemp("model")
    write_input(folder)
    run_lammps(folder, learned_crystal(temperature=600)).check()
    return folder


def lines(result):
    """[(configurations looked at, inside or outside, how many were outside)] of all runs."""
    return [(int(a), b, int(c or 0)) for a, b, c in LINE.findall(result.output)]


def test_inside_is_one_line(model):
    """Of each run, and no warning."""
    result = run_lammps(model, f"{ATOMS}{SI.format('watch 10')}velocity all scale 500\nfix n all nve\nrun 45\nrun 20\n").check()
    assert lines(result) == [(5, "inside", 0), (3, "inside", 0)]  # 0, 10, .. 40; 45, 50, 60
    assert not result.warnings("Pair style dptrain") and "largest error bar" in result.output


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("style", ["dptrain", "hybrid/overlay dptrain {0} zero 4.0"])
def test_compression_is_outside(style, ranks, model):
    """One warning, exact: at the step and with the atom and the bar that compute dptrain/uncertainty/atom tells."""
    pair = (SI.format("watch 10") if style == "dptrain" else
            f"pair_style {style.format('watch 10')}\npair_coeff * * dptrain si.dp Si\npair_coeff * * zero\n")
    commands = "compute u all dptrain/uncertainty/atom\ndump d all custom 10 u.dump id c_u\ndump_modify d format float %.17g sort id\n" \
               "velocity all scale 600\nfix n all nve\nfix q all deform 1 x scale 0.85 y scale 0.85 z scale 0.85 remap x\nrun 100\n"
    result = run_lammps(model, ATOMS + pair + commands, ranks).check()
    (looked, where, outside), = lines(result)
    assert (looked, where) == (11, "outside") and 0 < outside < 11
    warning, = result.warnings("Pair style dptrain")
    step, atom, bar = re.search(r"step (\d+) is outside of what si.dp has learned: the force on atom (\d+) has an error bar of ([\d.]+)",
                                warning).groups()
    bars = frames_of(model / "u.dump")
    assert int(step) == 10 * (11 - outside)  # from there on to the end
    of_step = bars[int(step) // 10]
    assert of_step[of_step[:, 1].argmax(), 0] == int(atom) and of_step[:, 1].max() == pytest.approx(float(bar), rel=1e-3)
    largest, at = re.search(r"largest error bar ([\d.]+) force units at step (\d+)", result.output).groups()
    assert bars[:, :, 1].max() == pytest.approx(float(largest), rel=1e-3) and bars[int(at) // 10, :, 1].max() == bars[:, :, 1].max()


def test_bars_change_nothing(model):
    """Forces and energies are the same to the last bit whether somebody looks or not."""
    text = "velocity all scale 600\nfix n all nve\nthermo 1\nthermo_style custom step pe press\nthermo_modify format float %.17g\nrun 20\n"
    one, other = (run_lammps(model, ATOMS + SI.format(words) + text).check().thermo() for words in ("watch 3", "watch no"))
    assert np.array_equal(one["PotEng"], other["PotEng"]) and np.array_equal(one["Press"], other["Press"])


def test_asked_for_between_looks(model):
    """A variable reads the compute at a step at which nobody was expected to: the values are those of that step."""
    text = "compute u all dptrain/uncertainty/atom\ncompute m all reduce max c_u\nvelocity all scale 600\nfix n all nve\nrun 7\n" \
           "variable x equal c_m\nprint \"RESULT now ${x}\"\n"
    result = run_lammps(model, ATOMS + SI.format("watch no") + text).check()
    text = text.replace("run 7", "thermo_style custom step c_m\nthermo 1\nthermo_modify format float %.12g\nrun 7")
    expected = run_lammps(model, ATOMS + SI.format("watch no") + text).check().thermo()["c_m"][-1]
    assert result.value("now") == pytest.approx(expected, rel=1e-9) and expected > 0


def test_configurations_outside_become_requests(model, tmp_path):
    """The first, and those that are half as far away again: files of a spool, which `dptrain label` computes."""
    (tmp_path / "si.dp").write_bytes((model / "si.dp").read_bytes())
    text = "velocity all scale 600\nfix n all nve\nfix q all deform 1 x scale 0.8 y scale 0.8 z scale 0.8 remap x\nrun 100\n"
    result = run_lammps(tmp_path, ATOMS + SI.format("watch 10 dump outside") + text, 2).check()
    (_, where, outside), = lines(result)
    kept = int(re.search(r"; (\d+) of them in outside", result.output)[1])
    requests = [read(path) for path in sorted((tmp_path / "outside").glob("*/request.xyz"))]
    assert where == "outside" and 1 <= kept <= outside and len(requests) == kept
    for atoms in requests:
        assert atoms.get_chemical_formula() == "Si64" and atoms.pbc.all()
        # 0.8 at the end, from 10.862 Angstrom; a twentieth of this is not yet outside
        assert 0.8 * 10.862 - 1e-6 <= atoms.cell[0, 0] < 0.99 * 10.862 and atoms.get_volume() == pytest.approx(atoms.cell[0, 0] ** 3)


def test_runs_without_a_beginning_are_counted_alone(model):
    """`run ... pre no`: each has its line, and what was outside before is not counted again."""
    squeeze = "fix q all deform 1 x scale 0.85 y scale 0.85 z scale 0.85 remap x\n"
    text = f"velocity all scale 600\nfix n all nve\n{squeeze}run 100\nrun 10 pre no\nrun 10 pre no\n"
    found = lines(run_lammps(model, ATOMS + SI.format("watch 10") + text).check())
    assert found[0][1] == "outside" and [line[0] for line in found[1:]] == [1, 1]
    assert all(outside <= looked for looked, _, outside in found)


def test_another_folder_and_another_model(model, tmp_path):
    """A pair style that is given again has its own folder, and a model its own elements."""
    for name in ("si.dp", "other.dp"):
        (tmp_path / name).write_bytes((model / "si.dp").read_bytes())
    squeeze = "fix q all deform 1 x scale 0.85 y scale 0.85 z scale 0.85 remap x\nrun 60\nunfix q\n"
    text = f"{SI.format('watch 10 dump one')}velocity all scale 600\nfix n all nve\n{squeeze}" \
           f"pair_style dptrain watch 10 dump two\npair_coeff * * other.dp Si\n{squeeze}"
    run_lammps(tmp_path, ATOMS + text).check()
    assert all(list((tmp_path / name).glob("*/request.xyz")) for name in ("one", "two"))


def test_atoms_that_the_model_does_not_see(model):
    """Of a type without element: they have no bar."""
    atoms = ATOMS.replace("create_box 1 box", "create_box 2 box").replace("mass 1", "mass *")
    pair = "pair_style hybrid/overlay dptrain watch 5 zero 4.0\npair_coeff * * dptrain si.dp Si NULL\npair_coeff * * zero\n"
    result = run_lammps(model, f"{atoms}set atom 1 type 2\n{pair}velocity all scale 300\nfix n all nve\nrun 10\n", 2).check()
    assert lines(result)[0][0] == 3


def test_the_first_ends_the_run(model, tmp_path):
    (tmp_path / "si.dp").write_bytes((model / "si.dp").read_bytes())
    text = "velocity all scale 600\nfix n all nve\nfix q all deform 1 x scale 0.8 y scale 0.8 z scale 0.8 remap x\nrun 100\n"
    result = run_lammps(tmp_path, ATOMS + SI.format("watch 10 dump outside stop") + text, 2)
    assert result.status != 0 and "is outside of what si.dp has learned, see the warning above, and the run ends" in result.errors()[0]
    assert (tmp_path / "outside").is_dir()


def test_minimizations_and_rerun(model):
    """A minimizer looks once at a step; a rerun at every configuration."""
    moved = "displace_atoms all random 0.1 0.1 0.1 77\n"
    result = run_lammps(model, ATOMS + moved + SI.format("watch 5") + "minimize 0 0 10 100\n").check()
    assert lines(result)[0][0] in (3, 4)  # 0, 5, 10, and the last one
    run_lammps(model, f"{ATOMS}pair_style sw\npair_coeff * * Si.sw Si\nfix n all nve\ndump d all custom 3 t.dump id type x y z\nrun 30\n").check()
    result = run_lammps(model, f"{ATOMS}{SI.format('')}rerun t.dump dump x y z\n").check()
    assert lines(result)[-1][0] == 11


def test_a_model_without_bars_says_so_once(tmp_path):
    write_input(tmp_path)
    run_lammps(tmp_path, f"{ATOMS}{PAIR}\nfix t all dptrain mode passive {REFERENCE} every 5 train 5 warmup 2 save 1000 si.dp\nfix n all nve\nrun 20\n").check()
    result = run_lammps(tmp_path, f"{ATOMS}{SI.format('')}fix n all nve\nrun 5\nrun 5\n").check()
    assert result.output.count("si.dp has no error bars: of this run") == 1
    assert bool(lines(result)) == ("distances of atoms are watched alone" in result.output)  # "inside" would be a lie where nothing is watched


@pytest.mark.parametrize("words, found", [("watch 0", "watch 0 is not possible"), ("watch x", "watch x is not possible"), ("watch 50 dump stop", "watch ... dump stop is not possible: give a folder behind dump"), ("watch -3", "watch -3 is not possible"),
                                          ("watch", "missing argument"), ("watch 10 dump", "missing argument"), ("watch no stop", "keyword stop")])
def test_words_that_are_not_possible(words, found, tmp_path):
    result = run_lammps(tmp_path, f"{ATOMS}pair_style dptrain {words}\n")
    assert result.status != 0 and found in result.errors()[0]


def test_a_restart_file_keeps_it(model):
    """Its words go on; another number of steps is given in the input."""
    run_lammps(model, f"{ATOMS}{SI.format('watch 7')}velocity all scale 500\nfix n all nve\nrun 5\nwrite_restart w.restart\n").check()
    result = run_lammps(model, "units metal\nread_restart w.restart\npair_coeff * * si.dp Si\nfix n all nve\nrun 20\n").check()
    assert lines(result) == [(4, "inside", 0)]  # 5, 7, 14, 21


@pytest.mark.parametrize("name, atoms", [("Si.mlearn", "diamond 5.431"), ("NiAl.jea", "bcc 2.88")])
def test_shipped_potentials_are_inside_at_room_temperature(name, atoms, tmp_path):
    elements = {"Si.mlearn": ["Si"], "NiAl.jea": ["Ni", "Al"]}[name]
    text = f"units metal\natom_modify map yes\nlattice {atoms}\nregion box block 0 4 0 4 0 4\ncreate_box {len(elements)} box\n" \
           f"create_atoms 1 box{' basis 2 2' if len(elements) > 1 else ''}\nmass * 28.0\n" \
           f"pair_style dptrain watch 10\npair_coeff * * {FOLDER / name}.dp {' '.join(elements)}\n" \
           "velocity all create 600 4711\nfix n all nve\nrun 200\n"
    assert lines(run_lammps(tmp_path, text).check()) == [(21, "inside", 0)]
