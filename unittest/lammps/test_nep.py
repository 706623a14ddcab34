"""Neuroevolution potentials of GPUMD: files of all kinds, beside what calorine computes with them (unittest/reference/nep)."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import dptrain
import numpy as np
import pytest

from labels import NATIVE, assert_same, native_values
from lammps_runner import console_variables, run_lammps

FOLDER = Path(__file__).resolve().parents[1] / "reference" / "nep"
REFERENCE = json.loads((FOLDER / "reference.json").read_text())
# calorine has constants of 15 decimals: C_80 to 6e-12
RELATIVE = 1e-10
REFERENCE_MODEL = FOLDER.parent / "two_side" / "model.dp"  # of descriptor se_e2_a


@pytest.mark.parametrize("kind", REFERENCE)
def test_it_is_what_calorine_computes(kind):
    frame = REFERENCE[kind]
    found = dptrain.load(FOLDER / f"{kind}.txt").evaluate(frame["positions"], frame["symbols"], frame["cell"])
    energies, forces, virial = (np.array(frame[name]) for name in ("energies", "forces", "virial"))
    np.testing.assert_allclose(found.energy, energies.sum(), rtol=RELATIVE)
    np.testing.assert_allclose(found.energies, energies, rtol=0, atol=RELATIVE * np.abs(energies).max())
    np.testing.assert_allclose(found.forces, forces, rtol=0, atol=RELATIVE * np.abs(forces).max())
    np.testing.assert_allclose(found.virial, virial, rtol=0, atol=RELATIVE * np.abs(virial).max())


def words_of(file):
    """Header lines, without the numbers of neighbors, and the numbers behind."""
    lines = [line.split() for line in file.read_text().split("\n") if line]
    first = next(k for k, line in enumerate(lines) if line[0] == "ANN") + 1
    header = [line[:-2] if line[0] == "cutoff" else line for line in lines[:first]]
    values = [[line[0], *map(float, line[1:])] if k > 0 else line for k, line in enumerate(header)]
    return values, [float(word) for line in lines[first:] for word in line]


@pytest.mark.parametrize("kind", REFERENCE)
def test_a_file_is_written_as_it_was(kind, tmp_path):
    """Digit by digit, but for NEP3 and NEP5, which become NEP4: this one with a neuron more, which is constant."""
    potential, frame = dptrain.load(FOLDER / f"{kind}.txt"), REFERENCE[kind]
    before = potential.evaluate(frame["positions"], frame["symbols"], frame["cell"])
    files = FOLDER / f"{kind}.txt", tmp_path / "a.nep.txt", tmp_path / "b.nep.txt", tmp_path / "c.dp"
    potential.save(files[1])
    dptrain.load(files[1]).save(files[2])
    potential.save(files[3])
    assert files[1].read_text() == files[2].read_text()
    for file in files[1:]:
        again = dptrain.load(file).evaluate(frame["positions"], frame["symbols"], frame["cell"])
        np.testing.assert_allclose(again.forces, before.forces, rtol=0, atol=1e-12 * np.abs(before.forces).max())
        assert again.energy == pytest.approx(before.energy, rel=1e-12)
    (of_first, numbers), (of_second, others) = (words_of(file) for file in files[:2])
    if "nep4" in kind:
        assert numbers == others
        # flags that are 0 at the end may be left out; GPUMD writes 2 where 222 is set, and reads all that is not 0
        assert [line for line in of_first if line[0] != "l_max"] == [line for line in of_second if line[0] != "l_max"]
    elif "nep5" in kind:
        assert of_second[0][0] == of_first[0][0].replace("5", "4") and int(of_second[-1][1]) == int(of_first[-1][1]) + 1


def box(kind, folder):
    """Commands for the atoms of a frame, whose cell is turned as LAMMPS needs it."""
    ase = pytest.importorskip("ase")
    from ase.io import write

    frame = REFERENCE[kind]
    elements = sorted(set(frame["symbols"]))
    atoms = ase.Atoms(frame["symbols"], frame["positions"], cell=frame["cell"], pbc=True)
    write(folder / "start.data", atoms, format="lammps-data", specorder=elements, masses=True)
    return f"units metal\natom_modify map yes\nbox tilt large\nread_data start.data\n", elements


@pytest.mark.parametrize("kind", ["nep4_cutoffs", "nep5_zbl", "nep4_all"])
def test_ranks_have_the_same(kind, tmp_path):
    shutil.copy(FOLDER / f"{kind}.txt", tmp_path / "nep.txt")
    text, elements = box(kind, tmp_path)
    text += f"pair_style dptrain\npair_coeff * * nep.txt {' '.join(elements)}\n" + NATIVE
    one, *others = (native_values(run_lammps(tmp_path, text, ranks).check()) for ranks in (1, 2, 4))
    for other in others:
        assert_same(other, one, 1e-10)


def test_fewer_elements(tmp_path):
    """A file of five elements, in a run of two of them in another order: what the whole potential says of such atoms."""
    frame = REFERENCE["nep4_five"]
    keep = [k for k, name in enumerate(frame["symbols"]) if name in ("O", "Cu")]
    positions, symbols = np.array(frame["positions"])[keep], [frame["symbols"][k] for k in keep]
    whole = dptrain.load(FOLDER / "nep4_five.txt").evaluate(positions, symbols, frame["cell"])
    ase = pytest.importorskip("ase")
    from ase.io import write

    write(tmp_path / "start.data", ase.Atoms(symbols, positions, cell=frame["cell"], pbc=True), format="lammps-data", specorder=["O", "Cu"], masses=True)
    shutil.copy(FOLDER / "nep4_five.txt", tmp_path / "nep.txt")
    text = "units metal\natom_modify map yes\nbox tilt large\nread_data start.data\npair_style dptrain\npair_coeff * * nep.txt O Cu\n" + NATIVE
    assert run_lammps(tmp_path, text).check().thermo()["PotEng"][-1] == pytest.approx(whole.energy, rel=1e-12)


def changed(change, kind="nep4_two"):
    """The lines of a file with a change: a function of the list of lines."""
    lines = (FOLDER / f"{kind}.txt").read_text().split("\n")
    change(lines)
    return "\n".join(lines)


def line(number, text):
    def change(lines):
        lines[number - 1] = text
    return change


def cut_last_number(lines):
    """Of the last line the half is left, without its end."""
    while not lines[-1]:
        lines.pop()
    lines[-1] = lines[-1][:len(lines[-1]) // 2]


def drop(count):
    def change(lines):
        del lines[-count - 1:-1]
    return change


WRONG = {
    "charges": (line(1, "nep4_charge1 2 Ti O"), ["line 1: a 'nep4_charge1' has charges (qNEP), which is not read"]),
    "dispersion": (line(1, "nep4_zbl_vdw 2 Ti O"), ["has dispersion"]),
    "dipole": (line(1, "nep4_dipole 2 Ti O"), ["dipole moments, no energy"]),
    "polarizability": (line(1, "nep4_polarizability 2 Ti O"), ["polarizabilities, no energy"]),
    "temperature": (line(1, "nep4_temperature 2 Ti O"), ["a temperature as an input"]),
    "new kind": (line(1, "nep4_magnetic 2 Ti O"), ["a 'nep4_magnetic' has what this version does not know"]),
    "new version": (line(1, "nep7 2 Ti O"), ["line 1: found 'nep7': use a potential nep3, nep4 or nep5"]),
    "number of elements": (line(1, "nep4 3 Ti O"), ["line 1: found 2 elements, expected 3"]),
    "element twice": (line(1, "nep4 2 O O"), ["line 1: names O twice"]),
    "no element": (line(1, "nep4 2 Ti Qq"), ["found 'Qq', which is no element up to Pu"]),
    "new line": (line(2, "spin 1"), ["line 2: found 'spin', expected 'cutoff RADIAL ANGULAR"]),
    "cutoffs": (line(2, "cutoff 6 4 5"), ["line 2: found 3 numbers behind cutoff, expected 4, or 6 with cutoffs of each of the 2 elements"]),
    "comment": (line(2, "cutoff 6 4 100 60 # numbers"), ["line 2: found '#', expected a number"]),
    "angular cutoff": (line(2, "cutoff 4 6 80 40"), ["line 2: found cutoffs 4 and 6"]),
    "word": (line(3, "n_max four 3"), ["line 3: found 'four', expected a number"]),
    "too many functions": (line(4, "basis_size 100 4"), ["line 4: found basis_size 100, at most"]),
    "large l_max": (line(5, "l_max 9 0 0"), ["line 5: found l_max 9, at most 8"]),
    "small l_max": (line(5, "l_max 3 0 0 0 0 0 1"), ["line 5: the term 134 needs l_max 4, found 3"]),
    "two layers": (line(6, "ANN 6 6"), ["line 6: a second hidden layer with 6 neurons"]),
    "number": (line(9, "nan"), ["line 9: found 'nan', expected a number"]),
    "truncated": (drop(5), ["it ends within the scaler, copy it again"]),
    "truncated number": (cut_last_number, ["this last line has no end, so that digits of it may be missing"]),
    "truncated early": (drop(400), ["it ends within the"]),
    "too long": (lambda lines: lines.insert(20, "0.1"), ["numbers behind the header, expected", "another version of GPUMD"]),
    "zbl": (line(2, "zbl 2 1"), ["line 2: found 'zbl 2 1'"], "nep4_zbl"),
    "header alone": (lambda lines: lines.__delitem__(slice(3, None)), ["the file ends before 'basis_size"]),
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_files_are_refused(fault, tmp_path):
    change, parts, *kind = WRONG[fault]
    (tmp_path / "nep.txt").write_text(changed(change, *kind))
    with pytest.raises(dptrain.Error) as found:
        dptrain.load(tmp_path / "nep.txt")
    assert all(part in str(found.value) for part in ["nep.txt", *parts]), found.value


def test_elements_that_it_has_not(tmp_path):
    shutil.copy(FOLDER / "nep4_two.txt", tmp_path / "nep.txt")
    text = "units metal\nregion r block 0 9 0 9 0 9\ncreate_box 1 r\ncreate_atoms 1 single 1 1 1\nmass 1 28\npair_style dptrain\npair_coeff * * nep.txt Si\n"
    run = run_lammps(tmp_path, text)
    assert run.status != 0 and "element Si is not in the model" in run.output and "Ti O" in run.output
    run = run_lammps(tmp_path, text.replace("create_box 1", "create_box 2").replace("mass 1 28", "mass * 28").replace("nep.txt Si", "nep.txt O Si"))
    assert run.status != 0 and "use its elements, Ti O, or NULL" in run.output


def test_what_is_told_of_zbl(tmp_path):
    """Kept elements, the meaning of a factor, and a repulsion beyond the angular cutoff."""
    (tmp_path / "nep.txt").write_text(changed(line(2, "zbl 1 2.4 0.7"), "nep4_zbl_factor"))
    shutil.copy(tmp_path / "nep.txt", tmp_path / "factor.txt")
    (tmp_path / "far.txt").write_text(changed(line(2, "zbl 1 4.4"), "nep4_zbl"))
    box = "units metal\natom_modify map yes\nregion r block 0 15 0 15 0 15\ncreate_box 1 r\ncreate_atoms 1 single 1 1 1\nmass 1 28\npair_style dptrain\n"
    output = run_lammps(tmp_path, box + "pair_coeff * * factor.txt I\nrun 0\n").check().output
    assert "factor.txt: NEP of 3 elements, of which are kept I; its ZBL is whole at no distance and ends at 0.7 times" in output
    output = run_lammps(tmp_path, box + "pair_coeff * * far.txt O\nrun 0\n").check().output
    assert "WARNING: Pair style dptrain: the ZBL of O and O reaches to 4.4 Angstrom and ends at their angular cutoff, 4 Angstrom" in output
    with pytest.warns(UserWarning, match="far.txt: the ZBL of Ti and Ti reaches to 4.4 Angstrom"):
        dptrain.load(tmp_path / "far.txt").save(tmp_path / "far.dp")
    output = run_lammps(tmp_path, box + "pair_coeff * * far.dp O\nrun 0\n").check().output
    assert "WARNING: Pair style dptrain: the ZBL of Ti and Ti reaches to 4.4 Angstrom" in output
    assert "its ZBL is whole at no distance" in dptrain.load(tmp_path / "factor.txt").info["terms"][0]


def test_a_convert_there_and_back(tmp_path):
    console = [sys.executable, "-m", "dptrain", "convert"]
    for names in ((FOLDER / "nep4_all.txt", "a.dp"), ("a.dp", "b.txt")):
        subprocess.run([*console, *map(str, names)], cwd=tmp_path, check=True, env=console_variables(), capture_output=True)
    assert words_of(tmp_path / "b.txt")[1] == words_of(FOLDER / "nep4_all.txt")[1]
    refused = subprocess.run([*console, str(FOLDER / "nep4_all.txt"), "a.pth"], cwd=tmp_path, env=console_variables(), capture_output=True, text=True)
    assert refused.returncode != 0 and "must be written as .dp" in refused.stderr
    refused = subprocess.run([*console, "a.dp", "b.txt"], cwd=tmp_path, env=console_variables(), capture_output=True, text=True)
    assert refused.returncode != 0 and "b.txt exists, and may be the potential that all began with" in refused.stderr
    refused = subprocess.run([*console, str(REFERENCE_MODEL), "c.txt"], cwd=tmp_path, env=console_variables(), capture_output=True, text=True)
    assert refused.returncode != 0 and "only models with descriptor nep can be written as nep.txt" in refused.stderr


NEP_IN = """# comments
version 4
type 1 Si
cutoff 4.5 3.5   # radial, angular
n_max 3 2
basis_size 4 4
l_max 3
neuron 10
lambda_e 1
generation 1000
"""
ATOMS = """units metal
atom_modify map yes
lattice diamond 5.431
region box block 0 2 0 2 0 2
create_box 1 box
create_atoms 1 box
mass 1 28.0855
labelmap atom 1 Si
velocity all create {temperature} {seed}
"""


def frames_of(folder, name, style, seed):
    """A data set of eleven frames of silicon, driven by a pair style of LAMMPS."""
    text = ATOMS.format(temperature=2400, seed=seed) + style + "fix n all nve\n" \
        f"fix d all dptrain model new Si reference run every 10 warmup 100000 dataset {name}\nrun 100\n"
    run_lammps(folder, text).check()


SW, TERSOFF = "pair_style sw\npair_coeff * * Si.sw Si\n", "pair_style tersoff\npair_coeff * * Si.tersoff Si\n"


def force_error(model, folder):
    """Of the frames of a data set, eV/Angstrom."""
    (arrays,) = folder.glob("*/set.*")
    coord, box, force = (np.load(arrays / f"{name}.npy") for name in ("coord", "box", "force"))
    potential = dptrain.load(model)
    found = [potential.evaluate(x.reshape(-1, 3), ["Si"] * (len(x) // 3), cell.reshape(3, 3)).forces.ravel() for x, cell in zip(coord, box)]
    return np.sqrt(np.mean((np.array(found) - force)**2))


def train(folder, *words):
    command = [sys.executable, "-m", "dptrain", "train", *words]
    return subprocess.run(command, cwd=folder, env=console_variables(), capture_output=True, text=True)


def test_nep_in_trains_a_potential_and_fine_tunes_it(tmp_path):
    """dptrain train nep.in with train.xyz of the folder; then from the nep.txt to another reference."""
    for name, style, seed in (("a", SW, 1), ("test", SW, 2), ("b", TERSOFF, 3)):
        frames_of(tmp_path, name, style, seed)
    convert = [sys.executable, "-m", "dptrain", "convert"]
    subprocess.run([*convert, "a", "train.xyz"], cwd=tmp_path, check=True, env=console_variables(), capture_output=True)
    (tmp_path / "nep.in").write_text(NEP_IN)
    trained = train(tmp_path, "nep.in")
    assert trained.returncode == 0, trained.stderr
    assert "these keys have no meaning here" in trained.stdout + trained.stderr and "lambda_e" in trained.stdout + trained.stderr
    dptrain.load(tmp_path / "model.ckpt.dp").save(tmp_path / "nep.txt")
    header, _ = words_of(tmp_path / "nep.txt")
    assert header == [["nep4", "1", "Si"], ["cutoff", 4.5, 3.5], ["n_max", 3, 2], ["basis_size", 4, 4], ["l_max", 3, 2, 0], ["ANN", 10, 0]]
    (forces,) = (np.load(path) for path in tmp_path.glob("test/*/set.*/force.npy"))
    first = force_error(tmp_path / "nep.txt", tmp_path / "test")
    assert first < 0.1 * np.sqrt(np.mean(forces**2))
    before = force_error(tmp_path / "nep.txt", tmp_path / "b")
    document = {"model": {"type_map": ["Si"], "descriptor": {"type": "nep"}}, "training": {"training_data": {"systems": "b"}, "numb_steps": 2000, "save_ckpt": "tuned"}}
    (tmp_path / "tune.json").write_text(json.dumps(document))
    tuned = train(tmp_path, "tune.json", "--finetune", "nep.txt", "--use-pretrain-script")
    assert tuned.returncode == 0, tuned.stderr
    assert force_error(tmp_path / "tuned.dp", tmp_path / "b") < before / 3


@pytest.mark.parametrize("text, parts", [
    (NEP_IN.replace("l_max 3", "lmax 3"), ["nep.in: line 7: 'lmax' is no keyword of nep.in that is known here: did you mean l_max?"]),
    (NEP_IN + "numb_steps 3\n", ["line 11: 'numb_steps' is no keyword of nep.in that is known here: remove the line; for settings of a training"]),
    (NEP_IN + "use_typewise_cutoff 2 2\n", ["line 11: use_typewise_cutoff: GPUMD no longer has it: give the cutoffs of each element"]),
    (NEP_IN + "neuron 20\n", ["line 11: neuron is given twice, first in line 8"]),
    (NEP_IN.replace("neuron 10", "neuron 30 30"), ["line 8: neuron has two hidden layers"]),
    (NEP_IN.replace("neuron 10", "neuron 121"), ["line 8: neuron 121: GPUMD has 1 to 120: give fewer, or an input.json"]),
    (NEP_IN.replace("type 1 Si", "type 1 Sj"), ["line 3: type: Sj is no element"]),
    (NEP_IN.replace("type 1 Si", "type Si"), ["line 3: found 'Si', expected a number"]),
    (NEP_IN.replace("type 1 Si\n", ""), ["nep.in: there is no line with the elements"]),
    (NEP_IN.replace("l_max 3", "l_max 9"), ["nep.in: model/descriptor/l_max"]),
    (NEP_IN.replace("version 4", "version 3"), ["line 2: version 3 is another form of the net: only 4 can be trained here"]),
    (NEP_IN + "model_type 1\n", ["line 11: model_type 1 is no potential"]),
    (NEP_IN + "charge_mode 2\n", ["charge_mode 2 is a potential with charges of GPUMD"]),
    (NEP_IN + "fine_tune nep89.txt nep89.restart\n", ["fine_tune: remove the line, and give the potential to 'dptrain train' with --finetune"]),
    (NEP_IN.replace("type 1 Si", "type 2 Si"), ["line 3: type has 1 elements behind the number 2"]),
    (NEP_IN.replace("n_max 3 2", "n_max 3"), ["line 5: n_max has 1 values, expected 2"]),
    (NEP_IN.replace("n_max 3 2", "n_max 3 x"), ["line 5: found 'x', expected a number"]),
    (NEP_IN.replace("l_max 3", "l_max 1 1"), ["nep.in: line 7: l_max_4body needs l_max 2 or more, found 1"]),
    (NEP_IN + "use_typewise_cutoff_zbl 0.7\n", ["use_typewise_cutoff_zbl has no meaning without zbl"]),
    (NEP_IN + "zbl 0\n", ["line 11: found zbl 0"]),
    (NEP_IN.replace("cutoff 4.5 3.5", "cutoff 3.5 4.5"), ["nep.in: line 4: found cutoffs 3.5 and 4.5"]),
])
def test_wrong_nep_in(text, parts, tmp_path):
    (tmp_path / "nep.in").write_text(text)
    refused = train(tmp_path, "nep.in")
    assert refused.returncode != 0 and all(part in refused.stderr for part in parts), refused.stderr


@pytest.mark.parametrize("ranks", [1, 2])
def test_it_is_fine_tuned_in_a_run(ranks, tmp_path):
    """A potential that a run has made from a nep.in drives another run, learns another reference there, and is a nep.txt again."""
    (tmp_path / "nep.in").write_text(NEP_IN)
    learn = "fix l all dptrain model nep.in Si reference run every 10 warmup 4 train 50 save 1000 start.txt\nfix n all nve\nrun 100\n"
    run_lammps(tmp_path, ATOMS.format(temperature=2400, seed=5) + SW + learn, ranks).check()
    frames_of(tmp_path, "b", TERSOFF, 3)
    assert words_of(tmp_path / "start.txt")[0][0] == ["nep4", "1", "Si"]
    tune = "pair_style dptrain\npair_coeff * * start.txt Si\nfix n all nve\n" \
        'fix l all dptrain reference pair tersoff coeff "* * Si.tersoff Si" end mode passive every 10 train 100 save 1000 tuned.txt\nrun 300\n'
    run_lammps(tmp_path, ATOMS.format(temperature=2400, seed=6) + tune, ranks).check()
    assert force_error(tmp_path / "tuned.txt", tmp_path / "b") < force_error(tmp_path / "start.txt", tmp_path / "b") / 1.5


def test_it_learns_actively(tmp_path):
    """Mode active from nothing: error bars of distances of descriptors decide when the reference is asked."""
    (tmp_path / "nep.in").write_text(NEP_IN)
    text = ATOMS.format(temperature=1200, seed=5) + "pair_style dptrain\npair_coeff * * nep.in Si\nfix n all nve\n" \
        'fix l all dptrain reference pair sw coeff "* * Si.sw Si" end mode active save 1000 model.txt\ncompute u all dptrain/uncertainty/atom\n' \
        "compute m all reduce max c_u\nthermo 50\nthermo_style custom step pe c_m f_l[1]\nrun 150\n"
    run = run_lammps(tmp_path, text).check()
    bars = run.thermo()["c_m"]
    assert np.isfinite(bars).all() and bars[-1] > 0
    # a nep.txt has no room for error bars; the checkpoint beside it has them
    assert (tmp_path / "model.txt.ckpt").exists() and dptrain.load(tmp_path / "model.txt").info["descriptor"] == "nep"


def test_walls_and_terms_are_not_lost_without_a_word(tmp_path):
    """What a nep.txt cannot hold is refused before the run."""
    text = ATOMS.format(temperature=1200, seed=5) + "pair_style dptrain wall 1.2\npair_coeff * * nep.txt Si\nfix n all nve\n" \
        'fix l all dptrain reference pair sw coeff "* * Si.sw Si" end mode passive every 10 save 10 model.txt\nrun 10\n'
    shutil.copy(FOLDER / "nep4.txt", tmp_path / "nep.txt")
    run = run_lammps(tmp_path, text)
    assert run.status != 0 and "a nep.txt has no walls: write a .dp file, or leave them out (wall no)" in run.output


def new_model(folder, **descriptor):
    """A model of NaCl that has learned nothing but energies of single elements."""
    atoms = "Lattice=\"6 0 0 0 6 0 0 0 6\" Properties=species:S:1:pos:R:3:forces:R:3 energy={}\n"
    lines = "Na {} 0 0 0.1 0 0\nCl {} 0 0 -0.1 0 0\n"
    frames = [f"2\n{atoms.format(e)}{lines.format(0, x)}" for e, x in ((-5.0, 2.4), (-5.1, 2.6))]
    frames.append(f"3\n{atoms.format(-9.0)}{lines.format(0, 2.5)}Na 0 2.5 0 0 0 0\n")
    (folder / "train.xyz").write_text("".join(frames))
    neurons = descriptor.pop("neuron", 10)
    model = {"type_map": ["Na", "Cl"], "descriptor": {"type": "nep", **descriptor}, "fitting_net": {"neuron": [neurons]}}
    (folder / "input.json").write_text(json.dumps({"model": model, "training": {"training_data": {"systems": "train.xyz"}, "numb_steps": 1}}))
    trained = train(folder, "input.json")
    assert trained.returncode == 0, trained.stderr
    return dptrain.load(folder / "model.ckpt.dp")


def test_as_many_neurons_as_gpumd_has(tmp_path):
    """120, where there is no room for another one: NEP5 has energies of single elements."""
    potential = new_model(tmp_path, neuron=120)
    potential.save(tmp_path / "nep.txt")
    assert words_of(tmp_path / "nep.txt")[0][0] == ["nep5", "2", "Na", "Cl"]
    frame = [[0, 0, 0], [2.5, 0.1, 0], [0, 2.4, 0.2]], ["Na", "Cl", "Cl"]
    before, after = (one.evaluate(*frame) for one in (potential, dptrain.load(tmp_path / "nep.txt")))
    np.testing.assert_allclose(after.energies, before.energies, rtol=1e-12)
    np.testing.assert_allclose(after.forces, before.forces, rtol=0, atol=1e-12 * np.abs(before.forces).max())


@pytest.mark.parametrize("settings, found", [
    ({"neuron": 121}, "121, 42, 35, 12 and 6"), ({"basis_size_radial": 17}, "10, 42, 35, 17 and 6"),
    ({"l_max": 6, "n_max_angular": 12}, "10, 98, 91, 12 and 12"), ({"n_max_radial": 60, "n_max_angular": 10}, "10, 116, 55, 12 and 10"),
    ({"l_max": 2, "n_max_angular": 17}, "10, 61, 54, 12 and 17")])
def test_what_gpumd_does_not_read_is_not_written(settings, found, tmp_path):
    potential = new_model(tmp_path, **settings)
    with pytest.raises(dptrain.Error, match=f"here are {found}: write a .dp file, or make it smaller"):
        potential.save(tmp_path / "nep.txt")


def test_cutoffs_follow_the_structure(tmp_path):
    """As those of power_spectrum do; in a run, too. The angular one is five sixths of the radial one."""
    def resolved(descriptor):
        document = {"model": {"type_map": ["Si"], "descriptor": {"type": "nep", **descriptor}}, "training": {"training_data": {"systems": "a"}, "numb_steps": 1}}
        (tmp_path / "input.json").write_text(json.dumps(document))
        trained = train(tmp_path, "input.json")
        assert trained.returncode == 0, trained.stderr
        found = json.loads((tmp_path / "out.json").read_text())["model"]["descriptor"]
        return [found[key] for key in ("rcut", "rcut_radial", "rcut_angular")]

    frames_of(tmp_path, "a", SW, 1)
    assert resolved({}) == [6.0, 6.0, 5.0]
    assert resolved({"rcut": "auto", "rcut_angular": 4.0}) == [6.0, 6.0, 4.0]
    assert resolved({"rcut": 5.0}) == pytest.approx([5.0, 5.0, 25 / 6])
    assert resolved({"rcut_radial": 4.0}) == pytest.approx([4.0, 4.0, 10 / 3])
    assert resolved({"rcut": "auto", "rcut_radial": 4.5, "rcut_angular": 4.0}) == [4.5, 4.5, 4.0]
    (tmp_path / "input.json").write_text(json.dumps({"model": {"type_map": ["Si"], "descriptor": {"type": "nep", "rcut": 5.0, "rcut_radial": 4.0}}}))
    refused = train(tmp_path, "input.json")
    assert refused.returncode != 0 and "model/descriptor/rcut: differs from the largest rcut_radial, 4" in refused.stderr
    (tmp_path / "input.json").write_text(json.dumps({"model": {"type_map": ["Si"], "descriptor": {"type": "nep"}}}))
    learn = "fix l all dptrain model input.json Si reference run every 5 warmup 2 train 5 save 1000 a.txt\nfix n all nve\nrun 20\n"
    run_lammps(tmp_path, ATOMS.format(temperature=2400, seed=5) + SW + learn).check()
    assert words_of(tmp_path / "a.txt")[0][1] == ["cutoff", 6, 5]


def test_zbl_is_looked_at_when_the_cutoff_is_known(tmp_path):
    """A repulsion that ends at the angular cutoff is told once this has been chosen: 5 Angstrom in silicon, not before."""
    warning = "the ZBL of Si and Si reaches to 5.5 Angstrom and ends at their angular cutoff, 5 Angstrom"
    frames_of(tmp_path, "a", SW, 1)
    model = {"type_map": ["Si"], "descriptor": {"type": "nep"}, "terms": [{"type": "nep_zbl", "inner": 1.0, "outer": 5.5}]}
    (tmp_path / "input.json").write_text(json.dumps({"model": model, "training": {"training_data": {"systems": "a"}, "numb_steps": 1}}))
    trained = train(tmp_path, "input.json")
    assert trained.returncode == 0 and trained.stdout.count("WARNING: " + warning) == 1, trained.stdout
    learn = "pair_style dptrain\npair_coeff * * input.json Si\n" \
        'fix l all dptrain reference pair sw coeff "* * Si.sw Si" end mode passive every 5 train 5\nfix n all nve\nrun 0\n'
    output = run_lammps(tmp_path, ATOMS.format(temperature=300, seed=5) + learn).check().output
    assert output.count(warning) == 1 and "WARNING: Fix dptrain: " + warning in output


def test_cutoffs_of_the_potential_that_is_tuned(tmp_path):
    """An input that gives none takes those of the nep.txt, also where they are not what it would choose, and of the elements that it has."""
    text = (FOLDER / "nep4_cutoffs.txt").read_text().split("\n")
    elements, cutoffs = text[0].split()[2:], list(map(float, text[1].split()[1:]))
    sizes = {name: line.split()[1:] for line in text for name in ("n_max", "basis_size", "l_max", "ANN") if line.startswith(name)}
    descriptor = {"type": "nep", "l_max": int(sizes["l_max"][0]), "l_max_4body": 2 if int(sizes["l_max"][1]) else 0}
    for part, k in (("radial", 0), ("angular", 1)):
        descriptor |= {f"n_max_{part}": int(sizes["n_max"][k]), f"basis_size_{part}": int(sizes["basis_size"][k])}
    shutil.copy(FOLDER / "nep4_cutoffs.txt", tmp_path / "nep.txt")
    for kept in (elements, elements[:1]):
        lines = "".join(f"{element} 0 0 {2.2 * k} 0 0 {0.1 * (-1)**k}\n" for k, element in enumerate([*kept, kept[0]]))
        frame = f'{len(kept) + 1}\nLattice="12 0 0 0 12 0 0 0 12" Properties=species:S:1:pos:R:3:forces:R:3 energy=-3\n{lines}'
        (tmp_path / "train.xyz").write_text(2 * frame)
        model = {"type_map": kept, "descriptor": descriptor, "fitting_net": {"neuron": [int(sizes["ANN"][0])]}}
        (tmp_path / "input.json").write_text(json.dumps({"model": model, "training": {"training_data": {"systems": "train.xyz"}, "numb_steps": 1}}))
        trained = train(tmp_path, "input.json", "--init-model", "nep.txt")
        assert trained.returncode == 0, trained.stderr
        info = dptrain.load(tmp_path / "model.ckpt.dp").info
        wanted = cutoffs[:2 * len(kept)]
        assert info["rcut_radial"] == (wanted[0] if len(kept) == 1 else wanted[::2])
        assert info["rcut_angular"] == (wanted[1] if len(kept) == 1 else wanted[1::2])


def test_a_box_that_is_smaller_than_the_cutoff(tmp_path):
    """A cell of two atoms, whose images are neighbors, has the energies of a large one; on two ranks, too."""
    shutil.copy(FOLDER / "nep4.txt", tmp_path / "nep.txt")
    element = (tmp_path / "nep.txt").read_text().split()[2]
    box = "units metal\natom_modify map yes\nlattice bcc 3.1\nregion r block 0 {0} 0 {0} 0 {0}\ncreate_box 1 r\ncreate_atoms 1 box\nmass 1 28\n" \
        "pair_style dptrain\npair_coeff * * nep.txt {1}\nthermo_style custom step pe pxx\n" \
        "thermo_modify format float %.17g\nrun 0\n"
    large = run_lammps(tmp_path, box.format(4, element)).check().thermo()
    for ranks in (1, 2):
        small = run_lammps(tmp_path, box.format(1, element), ranks).check().thermo()
        assert small["PotEng"][0] == pytest.approx(large["PotEng"][0] / 64, rel=1e-10)
        assert small["Pxx"][0] == pytest.approx(large["Pxx"][0], rel=1e-9)


def test_energies_of_separate_atoms_are_written(tmp_path):
    """With atom_ener the energy of an atom is that of the net less that of the net of an atom alone."""
    frames_of(tmp_path, "a", SW, 1)
    model = {"type_map": ["Si"], "descriptor": {"type": "nep", "rcut_radial": 4.5}, "fitting_net": {"atom_ener": [-3.5]}}
    (tmp_path / "input.json").write_text(json.dumps({"model": model, "training": {"training_data": {"systems": "a"}, "numb_steps": 20}}))
    trained = train(tmp_path, "input.json")
    assert trained.returncode == 0, trained.stderr
    potential = dptrain.load(tmp_path / "model.ckpt.dp")
    potential.save(tmp_path / "nep.txt")
    positions = [[0, 0, 0], [2.3, 0, 0], [0, 2.4, 0.3]]
    found, written = (one.evaluate(positions, ["Si"] * 3).energy for one in (potential, dptrain.load(tmp_path / "nep.txt")))
    assert written == pytest.approx(found, rel=1e-12)
    assert dptrain.load(tmp_path / "nep.txt").evaluate([[0, 0, 0]], ["Si"]).energy == pytest.approx(-3.5, abs=1e-12)


def test_a_perfect_crystal_has_a_scaler(tmp_path):
    """Of one frame, whose atoms are all alike, and whose numbers of degrees 1 and 2 are those of rounding."""
    (tmp_path / "nep.in").write_text(NEP_IN)
    text = ATOMS.format(temperature=1200, seed=5) + SW + "fix l all dptrain model nep.in Si reference run every 20 warmup 1 train 20 save 1000 a.txt\nfix n all nve\nrun 60\n"
    run_lammps(tmp_path, text).check()
    header, numbers = words_of(tmp_path / "a.txt")
    size = header[2][1] + 1 + (header[2][2] + 1) * 4
    scaler = np.array(numbers[-int(size):])
    assert (scaler > 0).all() and scaler.max() < 1e4, scaler


def test_finetune_of_some_elements_in_another_order(tmp_path):
    """A file of five elements, and an input of two of them."""
    frame = REFERENCE["nep4_five"]
    keep = [k for k, name in enumerate(frame["symbols"]) if name in ("O", "Cu")]
    atoms = pytest.importorskip("ase").Atoms([frame["symbols"][k] for k in keep], np.array(frame["positions"])[keep], cell=frame["cell"], pbc=True)
    potential = dptrain.load(FOLDER / "nep4_five.txt")
    found = potential.evaluate(atoms)
    lines = [f"{name} {' '.join(map(repr, map(float, [*x, *f])))}" for name, x, f in zip(atoms.symbols, atoms.positions, found.forces)]
    comment = f'Lattice="{" ".join(map(str, np.ravel(frame["cell"])))}" Properties=species:S:1:pos:R:3:force:R:3 energy={found.energy!r} weight=2 pbc="T T T"'
    (tmp_path / "train.xyz").write_text("\n".join([str(len(lines)), comment, *lines, ""]) * 4)
    shutil.copy(FOLDER / "nep4_five.txt", tmp_path / "nep.txt")
    (tmp_path / "nep.in").write_text("type 2 Cu O\ncutoff 5 4\nn_max 4 3\nbasis_size 5 4\nl_max 4 1\nneuron 6\n")
    document = {"model": {"type_map": ["Cu", "O"], "descriptor": {"type": "nep"}}, "training": {"training_data": {"systems": "train.xyz"}, "numb_steps": 1}}
    (tmp_path / "any.json").write_text(json.dumps(document))
    for words in (["nep.in", "--finetune", "nep.txt"], ["any.json", "--finetune", "nep.txt", "--use-pretrain-script"]):
        tuned = train(tmp_path, *words)
        assert tuned.returncode == 0, tuned.stdout + tuned.stderr
        # the labels are its own: there is nothing to learn
        assert np.loadtxt(tmp_path / "lcurve.out", ndmin=2)[0][2] < 1e-6
        assert dptrain.load(tmp_path / "model.ckpt.dp").type_map == ["Cu", "O"]
    for words, message in ((["any.json", "--restart", "nep.txt"], "nep.txt: a NEP of GPUMD has no state of a training: give it to --init-model or --finetune"),
                           (["more.json", "--finetune", "nep.txt"], "--finetune nep.txt has no Fe: its elements are ")):
        document["model"]["type_map"] = ["Cu", "Fe"]
        (tmp_path / "more.json").write_text(json.dumps(document))
        refused = train(tmp_path, *words)
        assert refused.returncode != 0 and message in refused.stderr, refused.stderr


def test_weights_below_zero_are_refused(tmp_path):
    frames_of(tmp_path, "a", SW, 1)
    (arrays,) = (tmp_path / "a").glob("*/set.*")
    np.save(arrays / "frame_weight.npy", np.full(11, -1.0))
    (tmp_path / "input.json").write_text(json.dumps({"model": {"type_map": ["Si"], "descriptor": {"type": "nep"}}, "training": {"training_data": {"systems": "a"}}}))
    refused = train(tmp_path, "input.json")
    assert refused.returncode != 0 and "its weight is -1: it must be a number of at least 0" in refused.stderr, refused.stderr


def test_texts_that_are_no_potential_stay_data(tmp_path, monkeypatch):
    from dptrain.convert import is_model

    monkeypatch.chdir(tmp_path)
    Path("scf.txt").write_text("Program PWSCF v.7.2\n")
    shutil.copy(FOLDER / "nep4.txt", "C.nep")
    assert not is_model("scf.txt", "data") and is_model("C.nep", "C.dp") and is_model("C.nep", "data")
