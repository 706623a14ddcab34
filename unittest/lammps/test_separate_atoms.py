"""Energies of separate atoms: of `atoms yes` of fix dptrain, of single atoms in data sets, of `atom_ener`; else fitted."""

import json
import shutil

import dptrain
import numpy as np
import pytest
from active import stored_frames
from dptrain import cli
from labels import CLUSTER, CLUSTER_PAIR
from lammps_runner import finish
from silicon import ATOMS, REFERENCE, learn, write_input
from test_command_train import parameters

ase_io = pytest.importorskip("ase.io", reason="the data sets and the calculators are ASE's")

CUTOFF = 4.5
OPTIONS = "warmup 2 every 5 train 40 save 1000 si.dp "
DPTRAIN = "pair_style dptrain\npair_coeff * * si.dp Si"
LJ = "pair_style lj/cut 6.0\npair_coeff * * 0.05 2.1\npair_modify shift yes"
OFFSET = -104.25  # eV
QUANTUM = f"calculators.Offset:offset={OFFSET},sigma=2.1,epsilon=0.05,rc=6.0"


def energy_of(model, x, elements=None):
    return dptrain.load(model).evaluate(np.array(x, float), elements or ["Si"] * len(x)).energy


def shown(path, capsys):
    """{element: what `dptrain show` says of its separate atom}"""
    capsys.readouterr()
    assert cli.main(["show", str(path)]) == 0
    lines = iter(capsys.readouterr().out.splitlines())
    next(line for line in lines if line.strip() == "separate_atoms")
    atoms = {}
    for line in lines:
        if not line.startswith("    "):
            return atoms
        atoms[line.split()[0]] = " ".join(line.split()[1:])


# --- asked of the reference

@pytest.mark.parametrize("ranks", [1, 2])
def test_a_force_field_is_asked(ranks, silicon, tmp_path, capsys):
    """An atom alone has no energy in a Stillinger-Weber crystal. Two atoms that are farther apart than the cutoff have none either, and
    the energy of the crystal is its cohesive energy; -3.9 eV per atom here, where atoms have moved."""
    output = silicon(learn(OPTIONS.replace("train 40", "train 200 optimizer adam") + "atoms yes", run="run 20"), ranks).check().output
    assert "the reference is asked for 1 separate atoms" in output and "energies of separate atoms (eV): Si 0\n" in output
    assert "energies of separate atoms: Si 0 eV" in output
    model = tmp_path / "si.dp"
    assert energy_of(model, [[0, 0, 0]]) == 0
    # a matrix product of two rows may round the last digit otherwise than that of one, whose result is subtracted
    assert abs(energy_of(model, [[0, 0, 0], [CUTOFF + 0.01, 0, 0]])) < 1e-14
    assert shown(model, capsys) == {"Si": "0 eV"} and dptrain.load(model).info["separate_atoms"] == {"Si": 0.0}
    frame = stored_frames(tmp_path / "si.dp.frames")[-1]
    found = dptrain.load(model).evaluate(frame["coord"], ["Si"] * 64, frame["box"].reshape(3, 3)).energy
    assert frame["energy"] / 64 < -3.5 and abs(found - frame["energy"]) / 64 < 0.1  # learned, not a constant


def test_what_is_not_asked_is_fitted(silicon, tmp_path, capsys):
    output = silicon(learn(OPTIONS)).check().output
    assert "energies of separate atoms: Si fitted" in output and "separate atoms (eV)" not in output
    assert abs(energy_of(tmp_path / "si.dp", [[0, 0, 0]])) > 1  # the energy of an atom in the crystal, or near it
    assert shown(tmp_path / "si.dp", capsys) == {"Si": "fitted"}


def test_a_baseline_gives_separate_atoms_nothing(silicon, tmp_path):
    silicon(learn(OPTIONS + 'atoms yes baseline pair zbl 2.0 3.0 coeff "* * 14 14" end')).check()
    assert energy_of(tmp_path / "si.dp", [[0, 0, 0]]) == 0


@pytest.mark.parametrize("mode", ["mode active accuracy 0.05 ", "mode passive "])
def test_a_checkpoint_goes_on_with_them(mode, silicon, tmp_path):
    """Nothing is asked again, and nothing differs from the input, which does not have them."""
    silicon(learn(mode + OPTIONS + "atoms yes")).check()
    output = silicon(learn(mode + OPTIONS + "atoms yes resume si.dp")).check().output
    assert "resumed from si.dp.ckpt" in output and "asked for 1 separate atoms" not in output
    assert energy_of(tmp_path / "si.dp", [[0, 0, 0]]) == 0
    # the frames alone make a new model, which has them too
    (tmp_path / "si.dp.ckpt").unlink()
    output = silicon(learn(mode + OPTIONS + "atoms yes resume si.dp")).check().output
    assert "there is no checkpoint" in output and "energies of separate atoms: Si 0 eV" in output
    assert energy_of(tmp_path / "si.dp", [[0, 0, 0]]) == 0


def test_what_the_input_gives_is_not_asked(silicon, tmp_path):
    """Of the elements of the model those of the run are asked for which atom_ener has no energy; nothing is known of the others. A file
    with settings of the training that has the same model is the same model."""
    write_input(tmp_path, {"sel": [30, 30, 30]}, types=("Ge", "Si", "C"))
    document = json.loads((tmp_path / "input.json").read_text())
    document["model"]["fitting_net"]["atom_ener"] = [-2.0, None, None]
    (tmp_path / "input.json").write_text(json.dumps(document))
    output = silicon(learn(OPTIONS + "atoms yes input input.json")).check().output
    assert "asked for 1 separate atoms" in output and "energies of separate atoms: Ge -2 eV, Si 0 eV, C fitted" in output
    assert energy_of(tmp_path / "si.dp", [[0, 0, 0]], ["Ge"]) == pytest.approx(-2, abs=1e-12)
    document["model"]["fitting_net"]["atom_ener"] = [-2.0, -1.0, None]
    (tmp_path / "input.json").write_text(json.dumps(document))
    output = silicon(learn(OPTIONS + "atoms yes resume si.dp")).output
    assert "atom_ener is Ge=-2 Si=0 there and Ge=-2 Si=-1 here" in output


def test_a_model_that_is_given_again(silicon, tmp_path):
    """What was asked once is known for the next new model."""
    text = learn(OPTIONS + "atoms yes") + "pair_coeff * * input.json Si\nrun 5\n"
    output = silicon(text).check().output
    assert output.count("is asked for 1 separate atoms") == 1 and output.count("energies of separate atoms (eV): Si 0\n") == 2
    assert energy_of(tmp_path / "si.dp", [[0, 0, 0]]) == 0


def spool_run(start_lammps, tmp_path, options="", atoms=ATOMS, elements="Si", pair=LJ):
    text = f"{atoms}{pair}\nfix t all dptrain model input.json {elements} reference spool spool end {OPTIONS}{options}\nfix n all nve\nrun 10\n"
    return finish(start_lammps(text), tmp_path)


def test_a_calculator_is_asked(labeler, start_lammps, tmp_path, capsys):
    """Its atoms have an energy that is 1000 times that of the bonds. The atom is alone in a periodic cell, as the run is periodic."""
    write_input(tmp_path)
    labeler(QUANTUM)
    output = spool_run(start_lammps, tmp_path, "atoms yes").check().output
    assert f"energies of separate atoms (eV): Si {OFFSET}\n" in output
    assert energy_of(tmp_path / "si.dp", [[0, 0, 0]]) == pytest.approx(OFFSET, abs=1e-9)
    assert shown(tmp_path / "si.dp", capsys) == {"Si": f"{OFFSET} eV"}
    asked = [ase_io.read(path) for path in (tmp_path / "spool").glob("*/request.xyz")]
    (atom,) = [one for one in asked if len(one) == 1]
    assert all(atom.pbc) and np.allclose(atom.cell, 15 * np.eye(3)) and len(asked) == 1 + 3


def test_two_elements_without_a_cell(labeler, start_lammps, tmp_path):
    write_input(tmp_path, {"sel": [40, 40]}, types=("O", "C"))
    labeler(QUANTUM)
    spool_run(start_lammps, tmp_path, "atoms yes", CLUSTER, "C O", CLUSTER_PAIR).check()
    model = tmp_path / "si.dp"
    for element in "CO":
        assert energy_of(model, [[0, 0, 0]], [element]) == pytest.approx(OFFSET, abs=1e-9)
    asked = [ase_io.read(path) for path in (tmp_path / "spool").glob("*/request.xyz")]
    atoms = [one for one in asked if len(one) == 1]
    assert sorted(one.get_chemical_formula() for one in atoms) == ["C", "O"] and not any(any(one.pbc) for one in atoms)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_client_is_asked(ranks, address, client, start_lammps, tmp_path):
    """It gets one atom first, and then the 64 of the run."""
    write_input(tmp_path)
    client(QUANTUM, address)
    text = (f"{ATOMS}{LJ}\nfix t all dptrain model input.json Si reference socket {address} wait 600 end {OPTIONS} atoms yes\n"
            "fix n all nve\nrun 10\n")
    finish(start_lammps(text, ranks), tmp_path).check()
    # ASE's Hartree is not exactly that of the protocol's server
    assert energy_of(tmp_path / "si.dp", [[0, 0, 0]]) == pytest.approx(OFFSET, rel=1e-8)
    frame = stored_frames(tmp_path / "si.dp.frames")[-1]
    assert len(frame["coord"]) == 64 and frame["energy"] == pytest.approx(64 * OFFSET, rel=0.1)


def test_a_reference_without_such_an_energy(labeler, start_lammps, tmp_path):
    write_input(tmp_path)
    labeler("calculators.Crowd:sigma=2.1,epsilon=0.05,rc=6.0")
    result = spool_run(start_lammps, tmp_path, "atoms yes")
    assert result.status != 0
    assert "no energy of a separate atom Si" in result.output and "no basis set for one atom" in result.output


@pytest.mark.parametrize("reference", ["run", 'pair coul/long 6.0 coeff "* *" kspace "ewald 1e-5" end', "values energy v_e forces v_fx v_fy v_fz end"])
def test_references_that_know_the_box_alone(reference, message, tmp_path):
    write_input(tmp_path)
    output = message(f"{ATOMS}{LJ}\nfix t all dptrain model input.json Si reference {reference} atoms yes\n").output
    assert "atoms: 'reference" in output and "computes the atoms of the box only" in output


# --- potentials that there are

@pytest.fixture
def trained(silicon, tmp_path):
    """LAMMPS in a folder with si.dp, which knows that separate atoms have no energy."""
    silicon(learn(OPTIONS.replace("train 40", "train 100") + "atoms yes")).check()
    return silicon


def test_they_stay_with_labels_of_the_same_kind(trained, tmp_path):
    output = trained(learn("every 5 train 20 save 1000 more.dp atoms yes", pair=DPTRAIN)).check().output
    assert "only a new potential takes energies of separate atoms" in output and "other reference" not in output
    assert energy_of(tmp_path / "more.dp", [[0, 0, 0]]) == 0


def test_another_reference_is_noticed(trained, labeler, start_lammps, tmp_path, capsys):
    """Its energies are 104 eV per atom lower: they are fitted, which is told once."""
    labeler(QUANTUM)
    text = (f"{ATOMS}{DPTRAIN}\nfix t all dptrain mode passive reference spool spool end every 5 train 20 save 1000 more.dp follow model\n"
            "fix n all nve\nrun 10\n")
    output = finish(start_lammps(text), tmp_path).check().output
    assert output.count("they are of another reference") == 1
    assert shown(tmp_path / "more.dp", capsys) == {"Si": "fitted"}
    assert energy_of(tmp_path / "more.dp", [[0, 0, 0]]) == pytest.approx(OFFSET, abs=10)


# --- in data sets

def write_data(folder, atoms, name="data.xyz"):
    """Frames of a learning run, and atoms alone as (element, energy, length of a periodic cell or None)."""
    import ase
    from ase.calculators.singlepoint import SinglePointCalculator

    frames = []
    for stored in stored_frames(folder / "si.dp.frames"):
        crystal = ase.Atoms("Si64", stored["coord"], cell=stored["box"].reshape(3, 3), pbc=True)
        crystal.calc = SinglePointCalculator(crystal, energy=stored["energy"] + 64 * OFFSET, forces=stored["force"])
        frames.append(crystal)
    for element, energy, cell in atoms:
        atom = ase.Atoms(element, cell=[cell or 0] * 3, pbc=cell is not None)
        atom.calc = SinglePointCalculator(atom, energy=energy, forces=np.zeros((1, 3)))
        frames.insert(1, atom)
    ase_io.write(folder / name, frames, format="extxyz")


@pytest.fixture
def offline(learned_once, lammps, tmp_path):
    """Function: atoms alone, options, atom_ener, systems -> Result of `dptrain train`."""
    learned_once(learn(OPTIONS), tmp_path)

    def run(atoms=None, options="", atom_ener=None, systems=("data.xyz",), steps=10):
        if atoms is not None:
            write_data(tmp_path, atoms)
        write_input(tmp_path)
        document = json.loads((tmp_path / "input.json").read_text())
        if atom_ener is not None:
            document["model"]["fitting_net"]["atom_ener"] = atom_ener
        document["loss"] = {"start_pref_e": 1, "limit_pref_e": 1, "start_pref_f": 100, "limit_pref_f": 1, "start_pref_v": 0}
        document["training"] = {"training_data": {"systems": list(systems), "batch_size": 1}, "numb_steps": steps, "save_freq": 5,
                                "max_ckpt_keep": 0}
        (tmp_path / "input.json").write_text(json.dumps(document))
        return lammps(f"dptrain train input.json {options}\n")
    return run


@pytest.mark.parametrize("cell", [None, 12.0])
def test_single_atoms_in_data(cell, offline, tmp_path, capsys):
    output = offline([("Si", OFFSET, cell), ("Si", OFFSET + 5e-4, cell)]).check().output
    assert f"energy of a separate atom Si: {OFFSET + 5e-4:.6f} eV, frame 1 of data.xyz" in output  # the first of them
    number = len(stored_frames(tmp_path / "si.dp.frames"))
    assert f"training data: 1 systems, {number} frames" in output  # they are not learned from
    known = dptrain.load(tmp_path / "model.ckpt.dp").info["separate_atoms"]["Si"]
    assert known == pytest.approx(OFFSET, abs=1e-3) and "separate atoms: Si " in output
    assert energy_of(tmp_path / "model.ckpt.dp", [[0, 0, 0]]) == pytest.approx(known, abs=1e-9)


def test_a_crystal_of_one_atom_is_none(offline, tmp_path):
    """Atoms that see their images have bonds."""
    output = offline([("Si", OFFSET - 1, 3.0)]).check().output
    assert "energy of a separate atom" not in output and "separate atoms: Si fitted" in output


def test_a_restart_leaves_the_same_frames_out(offline, tmp_path):
    offline([("Si", OFFSET, None)]).check()
    whole = parameters(tmp_path / "model.ckpt-10.dp")
    (tmp_path / "model.ckpt-10.dp").unlink()
    assert "data are others" not in offline(options="--restart model.ckpt-5").check().output
    assert np.array_equal(parameters(tmp_path / "model.ckpt-10.dp"), whole)


def test_atom_ener_of_the_input(offline, tmp_path):
    """It stands where the data have no single atoms, and where they agree; all frames have the same composition."""
    offline([], atom_ener=[OFFSET]).check()
    assert energy_of(tmp_path / "model.ckpt.dp", [[0, 0, 0]]) == pytest.approx(OFFSET, abs=1e-9)
    offline([("Si", OFFSET + 5e-4, None)], atom_ener=[OFFSET]).check()
    assert energy_of(tmp_path / "model.ckpt.dp", [[0, 0, 0]]) == pytest.approx(OFFSET, abs=1e-9)


def test_atom_ener_of_a_run(silicon, tmp_path):
    """The input of a new potential in a run: the energy bias, which is fitted to the first labels, leaves it alone."""
    document = json.loads((tmp_path / "input.json").read_text())
    document["model"]["fitting_net"]["atom_ener"] = [-1.5]
    (tmp_path / "input.json").write_text(json.dumps(document))
    output = silicon(learn(OPTIONS)).check().output
    assert "energies of separate atoms: Si -1.5 eV" in output
    assert energy_of(tmp_path / "si.dp", [[0, 0, 0]]) == pytest.approx(-1.5, abs=1e-12)


@pytest.mark.parametrize("atoms, atom_ener, expected", [
    ([("Si", OFFSET, None)], [OFFSET + 0.01], "and of -104.240000 eV in atom_ener of the input"),
    ([("Si", OFFSET, None), ("Si", OFFSET + 2, 20.0)], None, "keep the one of the calculation that the labels are from"),
])
def test_energies_that_contradict_each_other(atoms, atom_ener, expected, offline):
    result = offline(atoms, atom_ener=atom_ener)
    assert result.status != 0 and "a separate atom Si has an energy of -10" in result.output and expected in result.output


def test_nothing_but_single_atoms(offline, tmp_path):
    offline([]).check()
    write_data(tmp_path, [("Si", OFFSET, None)], "all.xyz")
    ase_io.write(tmp_path / "alone.xyz", [one for one in ase_io.read(tmp_path / "all.xyz", ":") if len(one) == 1], format="extxyz")
    assert "all frames are separate atoms" in offline(systems=["alone.xyz"]).output
    # beside others it is no system of the training
    assert "training data: 1 systems" in offline(systems=["data.xyz", "alone.xyz"]).check().output
    assert energy_of(tmp_path / "model.ckpt.dp", [[0, 0, 0]]) == pytest.approx(OFFSET, abs=1e-9)


def test_finetune(offline, tmp_path):
    """To labels of the same kind the energies stay; to others, here without the energies of atoms, they are fitted and this is told."""
    offline([("Si", OFFSET, None)], steps=300).check()
    shutil.copy((tmp_path / "model.ckpt.dp").resolve(), tmp_path / "known.dp")
    output = offline(options="--finetune known.dp", steps=5).check().output
    assert "another reference" not in output
    assert energy_of(tmp_path / "model.ckpt.dp", [[0, 0, 0]]) == pytest.approx(OFFSET, abs=1e-9)
    frames = ase_io.read(tmp_path / "data.xyz", ":")
    for frame in frames:
        frame.calc.results["energy"] -= len(frame) * OFFSET
    ase_io.write(tmp_path / "other.xyz", [frame for frame in frames if len(frame) > 1], format="extxyz")
    output = offline(options="--finetune known.dp", systems=["other.xyz"], steps=5).check().output
    assert "they are of another reference" in output
    assert dptrain.load(tmp_path / "model.ckpt.dp").info["separate_atoms"] == {"Si": None}
