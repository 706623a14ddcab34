"""`baseline pair` of fix dptrain, and `baseline` of the input: a force field that the file of a potential carries."""

import json
import re
import shutil

import numpy as np
import pytest

from labels import NATIVE, assert_same, label_values, native_values, stored_values, system_of
from silicon import ATOMS, REFERENCE, learn, write_input

RATTLE = "displace_atoms all random 0.1 0.1 0.1 4711 units box\n"
BASELINE = 'baseline pair zbl 2.0 3.0 coeff "* * 14 14" end'
WORDS = [{"pair_style": "zbl 2.0 3.0", "pair_coeff": ["* * 14 14"], "elements": ["Si"]}]
SW = "pair_style sw\npair_coeff * * Si.sw Si\n"
ZBL = "pair_style zbl 2.0 3.0\npair_coeff * * 14 14\n"
DPTRAIN = "pair_style dptrain\npair_coeff * * si.dp Si\n"
# rock salt whose charges are most of its energy
SALT = """units metal
atom_style charge
atom_modify map yes
lattice fcc 5.64 origin 0.05 0.05 0.05
region box {box}
create_box 2 box
create_atoms {na} box
lattice fcc 5.64 origin 0.55 0.05 0.05
create_atoms {cl} box
mass {na} 22.99
mass {cl} 35.45
set type {na} charge 1.0
set type {cl} charge -1.0
displace_atoms all random 0.2 0.2 0.2 4711 units box
velocity all create 1500 87287 loop geom
timestep 0.001
"""
BORN = 'reference pair born/coul/long 7.0 coeff "1 1 0.2637 0.317 2.340 1.048 0.499" coeff "1 2 0.2110 0.317 2.755 6.991 8.675" ' \
       'coeff "2 2 0.1582 0.317 3.170 72.40 145.4" modify "table 0" kspace "ewald 1.0e-6" end'
COULOMB = 'baseline pair coul/long 7.0 coeff "* *" modify "table 0" kspace "ewald 1.0e-6" end'


def salt(na=1, cl=2, box="block 0 2 0 2 0 2"):
    return SALT.format(na=na, cl=cl, box=box)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_what_is_learned_is_the_difference(ranks, silicon, tmp_path):
    """To rounding: energies, forces and virials of the two styles, each run by LAMMPS itself, subtracted. The data set has the labels
    as the reference gives them."""
    silicon(f"{ATOMS}{RATTLE}pair_style dptrain\npair_coeff * * input.json Si\n"
            f"fix t all dptrain mode passive {REFERENCE} {BASELINE} warmup 100 dataset data\nrun 0\n", ranks).check()
    sw, zbl = (native_values(silicon(ATOMS + RATTLE + style + NATIVE, ranks)) for style in (SW, ZBL))
    difference = [a - b for a, b in zip(sw, zbl)]
    assert np.abs(zbl[1]).max() > 0.5 and abs(zbl[0]) > 1  # the baseline matters
    assert_same(stored_values(tmp_path / "dptrain.t.frames"), difference, 1e-12)
    assert_same(stored_values(tmp_path / "dptrain.t.frames", "baseline_"), zbl, 1e-12)
    assert_same(label_values(tmp_path / "data"), sw, 1e-12)


@pytest.mark.parametrize("ranks", [1, 2])
def test_driven_steps_are_those_of_the_reference(ranks, silicon):
    """The pair style adds the baseline: what drives the atoms, and what thermo shows, is the reference alone."""
    options = f"{BASELINE} every 5 warmup 100"
    thermo = "thermo 5\ndump d all custom 20 {0}.dump id x y z\ndump_modify d format float %.17g\n"
    driven = silicon(learn(options, thermo=thermo.format("driven")), ranks).check()
    assert "baseline" not in driven.output.split("Setting up")[-1]
    columns = "thermo_style custom step pe press\nthermo_modify format float %.17g\n"
    native = silicon(ATOMS + SW + "fix n all nve\n" + columns + thermo.format("native") + "run 20\n", ranks).check()
    for name in ("PotEng", "Press"):
        expected = native.thermo()[name]
        assert np.abs(driven.thermo()[name] - expected).max() < 1e-9 * np.abs(expected).max(), name
    assert np.abs(driven.dump("driven.dump") - native.dump("native.dump")).max() < 1e-9


@pytest.mark.parametrize("ranks", [1, 2])
def test_followed_steps_are_those_of_the_reference(ranks, silicon):
    """With a trained model the reference takes the place of the model alone: forces, energy, pressure of the labeled step."""
    text = learn(f"{BASELINE} every 5 warmup 1 train 5 follow reference", run="run 10",
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
    silicon(f"{ATOMS}{RATTLE}{pair}fix t all dptrain model input.json Si reference run {BASELINE} warmup 100\nrun 0\n", ranks).check()
    assert_same(stored_values(tmp_path / "dptrain.t.frames"), native_values(silicon(ATOMS + RATTLE + SW + NATIVE, ranks)), 1e-11)


def test_twice_the_same_style(silicon):
    """A baseline that the run has beside dptrain, too, is told."""
    overlay = "pair_style hybrid/overlay dptrain zbl 2.0 3.0\npair_coeff * * dptrain input.json Si\npair_coeff * * zbl 14.0 14.0"
    output = silicon(learn(f"{BASELINE} warmup 100", pair=overlay, run="run 0")).check().output
    assert "the run has a pair style zbl beside dptrain, too" in output


def test_ghost_cutoff_of_two_styles(silicon):
    """The reference needs ghosts, and the cutoff of the user comes back at the end. The baseline is a part of the pair style."""
    text = learn('warmup 100 baseline pair lj/cut 7.0 coeff "* * 0.05 2.1" end', run="comm_modify cutoff 6.2\nrun 0\nrun 0\n",
                 reference='reference pair lj/cut 8.0 coeff "* * 0.05 2.1" end')
    text += "unfix t\nthermo_style one\npair_style sw\npair_coeff * * Si.sw Si\nrun 0\n"
    output = silicon(text).check().output
    assert [float(x) for x in re.findall(r"ghost atom cutoff = (\S+)", output)] == [10, 6.2]


@pytest.mark.parametrize("ranks", [1, 2])
def test_rerun_then_run(ranks, silicon, tmp_path):
    """Rerun initializes fixes for each frame, without asking for lists anew; a hybrid style of the run must not touch ours."""
    silicon(f"{ATOMS}{SW}fix n all nve\ndump d all custom 2 si.dump id type x y z\ndump_modify d format float %.17g\nrun 6\n").check()
    fix = f"fix t all dptrain model input.json Si {REFERENCE} {BASELINE} every 1 warmup 100 dataset data\n"
    pair = "pair_style hybrid/overlay zbl 2.0 3.0 lj/cut 4.0\npair_coeff * * zbl 14.0 14.0\npair_coeff * * lj/cut 0.05 2.1\n"
    silicon(f"{ATOMS}{pair}{fix}rerun si.dump dump x y z\nrun 1\n", ranks).check()
    labels = system_of(tmp_path / "data")
    assert labels["energy"].shape[0] == 5  # the run begins at the last frame, which is there already
    native = "thermo 1\nthermo_style custom step pe\nthermo_modify format float %.17g\nrerun si.dump dump x y z\n"
    sw, zbl = (silicon(ATOMS + style + native).check().thermo()["PotEng"] for style in (SW, ZBL))
    assert np.allclose(labels["energy"].ravel()[:4], sw, rtol=1e-12)
    learned = [stored_values(tmp_path / "dptrain.t.frames", frame=k)[0] for k in range(4)]
    assert np.allclose(learned, sw - zbl, rtol=1e-12)
    # the frame of the run is at most one step away: an empty neighbor list would give an energy of zero
    assert labels["energy"].ravel()[4] == pytest.approx(labels["energy"].ravel()[3], rel=0.1)


# --- the file that carries it

def net_alone(folder, path="si.dp"):
    """The model of a file without its baseline, as another file."""
    import h5py

    shutil.copy(folder / path, folder / "net.dp")
    with h5py.File(folder / "net.dp", "r+") as file:
        tree = json.loads(file.attrs["json"])
        assert tree["model"]["@version"] == 3  # programs that know no baselines refuse it
        del tree["model"]["baseline"]
        tree["model"]["@version"] = 2
        file.attrs["json"] = json.dumps(tree)
    return folder / "net.dp"


PER_ATOM = """compute e all pe/atom
compute s all stress/atom NULL virial
compute c all centroid/stress/atom NULL virial
dump d all custom 1 {0}.dump id type fx fy fz c_e c_s[*] c_c[*]
dump_modify d sort id format float %.17g
thermo_style custom step pe press
thermo_modify format float %.17g
run 0
"""


@pytest.fixture
def learned(silicon):
    silicon(learn(f"{BASELINE} every 5 warmup 2 train 20 save 100 si.dp", run="run 20")).check()
    return silicon


@pytest.mark.parametrize("ranks, newton", [(1, "on"), (2, "on"), (4, "on"), (2, "off")])
def test_the_file_runs_by_itself(ranks, newton, learned, tmp_path):
    """Energy, pressure, forces, and what computes ask for of each atom: those of hybrid/overlay with the net alone."""
    net_alone(tmp_path)
    atoms = ATOMS.replace("units metal", f"units metal\nnewton {newton}") + RATTLE
    overlay = "pair_style hybrid/overlay dptrain zbl 2.0 3.0\npair_coeff * * dptrain net.dp Si\npair_coeff * * zbl 14.0 14.0\n"
    whole = learned(atoms + DPTRAIN + PER_ATOM.format("whole"), ranks).check()
    parts = learned(atoms + overlay + PER_ATOM.format("parts"), ranks).check()
    for name in ("PotEng", "Press"):
        assert whole.thermo()[name][0] == pytest.approx(parts.thermo()[name][0], rel=1e-12), name
    found, expected = whole.dump("whole.dump"), parts.dump("parts.dump")
    assert np.abs(found - expected).max() < 1e-11 * np.abs(expected).max()


def test_beside_another_style(learned, tmp_path):
    """In a hybrid style the baseline has neighbor lists of its own."""
    net_alone(tmp_path)
    lj = "pair_coeff * * lj/cut 0.05 2.1\n"
    whole = learned(f"{ATOMS}{RATTLE}pair_style hybrid/overlay dptrain lj/cut 3.5\npair_coeff * * dptrain si.dp Si\n{lj}{PER_ATOM.format('whole')}", 2).check()
    parts = learned(f"{ATOMS}{RATTLE}pair_style hybrid/overlay dptrain lj/cut 3.5 zbl 2.0 3.0\npair_coeff * * dptrain net.dp Si\n{lj}"
                    f"pair_coeff * * zbl 14.0 14.0\n{PER_ATOM.format('parts')}", 2).check()
    for name in ("PotEng", "Press"):
        assert whole.thermo()[name][0] == pytest.approx(parts.thermo()[name][0], rel=1e-12), name
    found, expected = whole.dump("whole.dump"), parts.dump("parts.dump")
    assert np.abs(found - expected).max() < 1e-11 * np.abs(expected).max()


def test_python_evaluates_it(learned, tmp_path):
    """A cell that is not as LAMMPS wants it, and atoms without a cell: forces and virial are derivatives of the energy."""
    dptrain = pytest.importorskip("dptrain", reason="asks Python's potential")

    whole, net = dptrain.load(tmp_path / "si.dp"), dptrain.load(net_alone(tmp_path))
    assert "zbl 2.0 3.0" in whole.info["baseline"] and "baseline" not in net.info
    rng = np.random.default_rng(3)
    cell = np.array([[5.2, 0.4, 0.3], [-0.5, 5.6, 0.2], [0.3, -0.4, -5.4]])  # left-handed
    positions = 0.05 * rng.random((4, 3)) + np.array([[0, 0, 0], [.28, .28, .05], [.05, .3, .35], [.33, .05, .3]])
    for lattice in (cell, None):
        x = positions @ cell
        a, b = whole.evaluate(x, ["Si"] * 4, lattice), net.evaluate(x, ["Si"] * 4, lattice)
        assert abs(a.energy - b.energy) > 1e-2
        assert a.energies.sum() == pytest.approx(a.energy, rel=1e-12)
        # forces and virial by differences of the energy: of the baseline, and of the sum
        h = 1e-4

        def energy(dx=0.0, strain=0.0):
            turn = np.eye(3) + strain
            return whole.evaluate((x + dx) @ turn, ["Si"] * 4, None if lattice is None else lattice @ turn).energy

        for atom, k in ((0, 0), (2, 1), (3, 2)):
            dx = np.zeros((4, 3))
            dx[atom, k] = h
            assert a.forces[atom, k] == pytest.approx((energy(-dx) - energy(dx)) / (2 * h), abs=2e-6)
        for i, j in ((0, 0), (1, 2), (2, 2)):
            strain = np.zeros((3, 3))
            strain[i, j] += h / 2
            strain[j, i] += h / 2
            slope = (energy(strain=-strain) - energy(strain=strain)) / (2 * h)
            assert (a.virial[i, j] + a.virial[j, i]) / 2 == pytest.approx(slope, abs=2e-5)


def test_a_slab_in_python(learned, tmp_path):
    """A baseline that reaches further than the net: no image comes near in the direction without periodicity."""
    dptrain = pytest.importorskip("dptrain", reason="asks Python's potential")
    import h5py

    with h5py.File(tmp_path / "si.dp", "r+") as file:
        tree = json.loads(file.attrs["json"])
        tree["model"]["baseline"][0].update(pair_style="lj/cut 12.0", pair_coeff=["* * 0.05 2.1"])
        file.attrs["json"] = json.dumps(tree)
    atoms = ATOMS.replace("units metal", "units metal\nboundary p p s") + RATTLE
    table = learned(f"{atoms}{DPTRAIN}{PER_ATOM.format('slab').replace('id type fx fy fz', 'id type x y z')}").check()
    x = table.dump("slab.dump")[:, 2:5]
    found = dptrain.load(tmp_path / "si.dp").evaluate(x, ["Si"] * len(x), [10.862, 10.862, 10.862], (True, True, False))
    assert found.energy == pytest.approx(table.thermo()["PotEng"][0], rel=1e-9)


def test_a_session_of_python_has_none(tmp_path):
    """Beside a Python program there is no LAMMPS that could evaluate it: refused at once."""
    dptrain = pytest.importorskip("dptrain", reason="asks Python's potential")

    write_input(tmp_path)
    content = json.loads((tmp_path / "input.json").read_text())
    content["model"]["baseline"] = WORDS
    (tmp_path / "input.json").write_text(json.dumps(content))
    with pytest.raises(dptrain.Error, match="has the baseline zbl 2.0 3.0, which LAMMPS evaluates"):
        dptrain.Session(tmp_path / "input.json", lambda *frame: None)


@pytest.mark.parametrize("ranks", [1, 2])
def test_offline_training_learns_the_same(ranks, learned, tmp_path):
    """The errors of the file on its data set are those of what it learned; `dptrain train` with `baseline` in the input subtracts the
    same numbers: the energy bias of its statistics is that of the difference."""
    learned(learn(f"{BASELINE} every 5 warmup 100 dataset data", run="run 20")).check()
    frames = [stored_values(tmp_path / "dptrain.t.frames", frame=k) for k in range(5)]
    model = {**json.loads((tmp_path / "input.json").read_text())}
    model["model"]["baseline"] = WORDS
    model["training"] = {"numb_steps": 1, "training_data": {"systems": ["data"]}, "save_ckpt": "offline"}
    (tmp_path / "offline.json").write_text(json.dumps(model))
    output = learned("dptrain train offline.json\ndptrain test -m si.dp -s data\n", ranks).check().output
    assert "baseline: zbl 2.0 3.0; the net learns what it lacks" in output
    mean = np.mean([energy for energy, _, _ in frames]) / 64
    assert float(re.search(r"energy bias \(eV\) (\S+)", output)[1]) == pytest.approx(mean, rel=1e-5)
    # of the model on the frames: the sum of net and baseline against the labels of the reference
    dptrain = pytest.importorskip("dptrain", reason="asks Python's potential")

    whole, data = dptrain.load(tmp_path / "si.dp"), system_of(tmp_path / "data")
    errors = [whole.evaluate(x.reshape(-1, 3), ["Si"] * 64, box.reshape(3, 3)).energy - e
              for x, box, e in zip(data["coord"], data["box"], data["energy"].ravel())]
    found = float(re.search(r"Energy RMSE +: (\S+)", output)[1])
    assert found == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-5)


@pytest.mark.parametrize("ranks", [1, 2])
def test_it_goes_on_bit_by_bit(ranks, silicon, tmp_path):
    """A resumed run without the keyword has the baseline of the file."""
    options = "every 5 warmup 2 train 5 save 1000 si.dp"
    whole = silicon(learn(f"{BASELINE} {options}", run="run 15\nrun 15"), ranks).check().thermo()
    silicon(learn(f"{BASELINE} {options}", run="run 15\nwrite_restart si.restart"), ranks).check()
    text = f"read_restart si.restart\npair_style dptrain\npair_coeff * * si.dp.ckpt Si\ntimestep 0.001\n" \
           f"fix t all dptrain mode passive {REFERENCE} {options} resume si.dp\nfix n all nve\n" \
           "thermo_style custom step pe press f_t f_t[*]\nthermo_modify format float %.17g\nthermo 10\nrun 15\n"
    second = silicon(text, ranks).check()
    rest = second.thermo()
    for name in ("PotEng", "Press", "f_t"):
        assert second.same_numbers(rest[name][-1], whole[name][-1]), name


# --- long-range charges, and atom types in another order

RUN = "thermo_style custom step pe press\nthermo_modify format float %.17g\nfix n all nve\nthermo 5\nrun 10\n"


@pytest.fixture
def salt_file(lammps, tmp_path):
    write_input(tmp_path, types=["Na", "Cl"])
    text = salt() + "pair_style dptrain\npair_coeff * * input.json Na Cl\n" \
        f"fix t all dptrain mode passive {BORN} {COULOMB} every 5 warmup 2 train 20 save 100 salt.dp dataset data\n{RUN}"
    lammps(text).check()
    return lammps


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_kspace_and_other_orders_of_types(ranks, salt_file):
    """One file that runs by itself, for any order of the atom types, in a tilted box too."""
    for box in ("block 0 2 0 2 0 2", "prism 0 2 0 2 0 2 0.3 -0.2 0.4"):
        pair = "pair_style dptrain\npair_coeff * * salt.dp {}\n"
        found = salt_file(salt(1, 2, box) + pair.format("Na Cl") + RUN, ranks).check().thermo()
        other = salt_file(salt(2, 1, box) + pair.format("Cl Na") + RUN, ranks).check().thermo()
        for name in ("PotEng", "Press"):
            assert np.abs(found[name] - other[name]).max() < 1e-10 * np.abs(found[name]).max(), name
        energies = found["PotEng"]
        assert np.ptp(energies) > 1e-2  # the atoms move


def test_python_has_the_charges(salt_file, tmp_path):
    """What LAMMPS runs with the charges of atoms, Python evaluates with those of elements that the file knows."""
    dptrain = pytest.importorskip("dptrain", reason="asks Python's potential")

    data = system_of(tmp_path / "data")
    order = np.loadtxt(next((tmp_path / "data").iterdir()) / "type.raw", dtype=int)
    model = dptrain.load(tmp_path / "salt.dp")
    names = [model.type_map[t] for t in order]
    thermo = salt_file(salt() + "pair_style dptrain\npair_coeff * * salt.dp Na Cl\n" + RUN.replace("run 10", "run 0")).check().thermo()
    assert model.evaluate(data["coord"][0].reshape(-1, 3), names, data["box"][0].reshape(3, 3)).energy == \
        pytest.approx(thermo["PotEng"][0], rel=1e-7)


@pytest.mark.parametrize("change, said", [
    (("atom_style charge", "atom_style atomic"), "and the atoms of this run have none: use atom_style charge"),
    (("charge -1.0", "charge -0.9"), "was trained with a charge of -1 for Cl, and atom"),
    (("units metal", "units real"), "was written for units metal, and this run has units real"),
    (("pair_style dptrain\npair_coeff * * salt.dp Na Cl",
      "pair_style hybrid/overlay dptrain lj/cut 3.0\npair_coeff * * dptrain salt.dp Na NULL\npair_coeff * * lj/cut 0 1"),
     "acts on all atoms, and pair_coeff gives NULL"),
])
def test_what_does_not_fit_the_baseline(change, said, salt_file):
    text = (salt() + "pair_style dptrain\npair_coeff * * salt.dp Na Cl\nrun 0\n").replace(*change)
    if "atomic" in change[1]:
        text = "\n".join(line for line in text.splitlines() if not re.match("set type . charge", line)) + "\n"
    result = salt_file(text)
    assert result.status != 0 and said in " ".join(result.output.split()), result.output[-1500:]


@pytest.mark.parametrize("words, said", [
    ({"pair_coeff": ["* * 14 14"]}, "model/baseline/0/pair_style: is missing"),
    ({"pair_style": "zbl 2.0 3.0"}, "model/baseline/0/pair_coeff: is missing"),
    ({**WORDS[0], "kspace_modify": ["order 4"]}, "model/baseline/0/kspace_modify: needs kspace_style"),
    ({**WORDS[0], "units": "lj"}, "model/baseline/0/units"),
    ({**WORDS[0], "elements": ["Ge"]}, "elements names Ge, which is none of type_map: use Si"),
    ({**WORDS[0], "charges": {"Ge": 1}}, "charges names Ge, which is none of type_map: use Si"),
    ({**WORDS[0], "pair_styl": "x"}, "pair_styl"),
    ({"pair_style": "coul/long 7.0", "pair_coeff": ["* *"]}, "coul/long needs a kspace style"),
    ({"pair_style": "coul/long 7.0", "pair_coeff": ["* *"], "kspace_style": "pppm 1e-4", "charges": {"Si": 1.0}},
     "and the atoms of this run have none: use atom_style charge"),
    ({"pair_style": "no/such 7.0", "pair_coeff": ["* *"]}, "no/such"),
    ({"pair_style": "zbl 2.0 3.0", "pair_coeff": ["1 1"]}, "these words of the baseline of input.json: pair_style zbl 2.0 3.0"),
])
def test_bad_words(words, said, silicon, tmp_path):
    content = json.loads((tmp_path / "input.json").read_text()) if (tmp_path / "input.json").exists() else None
    if content is None:
        write_input(tmp_path)
        content = json.loads((tmp_path / "input.json").read_text())
    content["model"]["baseline"] = [words]
    (tmp_path / "input.json").write_text(json.dumps(content))
    result = silicon(learn("warmup 100", run="run 0"))
    assert result.status != 0 and said in " ".join(result.output.split()), result.output[-1500:]


@pytest.mark.parametrize("options, model, said", [
    (BASELINE.replace("2.0 3.0", "2.0 2.9"), "si.dp", "has another one, zbl 2.0 3.0: leave the keyword out"),
    (BASELINE, "net.dp", "was trained without one: begin with a new model"),
])
def test_another_baseline_than_that_of_the_file(options, model, said, learned, tmp_path):
    net_alone(tmp_path)
    result = learned(learn(f"{options} warmup 100", pair=f"pair_style dptrain\npair_coeff * * {model} Si", run="run 0"))
    assert result.status != 0 and said in " ".join(result.output.split()), result.output[-1500:]


def test_labels_of_another_kind_are_not_resumed(learned, tmp_path):
    shutil.copy(tmp_path / "si.dp.frames", tmp_path / "alone.frames")
    result = learned(learn("warmup 100 resume alone save 100 other.dp", run="run 0"))
    assert result.status != 0 and "its labels are those of a potential with a baseline, and this potential has none" in \
        " ".join(result.output.split()), result.output[-1500:]
