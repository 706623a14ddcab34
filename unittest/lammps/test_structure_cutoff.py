"""The cutoff of a new model that follows from the structure, where the input leaves it open: in a run, offline, when a run goes on."""

import json

import dptrain
import numpy as np
import pytest
from silicon import ATOMS, REFERENCE, learn, write_input
from test_command_train import training
from test_replicas import EAGER, Job, shared

NEW = "pair_style dptrain\npair_coeff * * new Si"
OPTIONS = "warmup 2 every 5 train 10 save 1000 si.dp "
#: two lattices of diamond with neighbors at 2.352 and 2.858 Angstrom
NARROW, WIDE = "5.431", "6.6"


def learns(options=OPTIONS, lattice=WIDE, pair=NEW, run="run 10", **words):
    return learn(options, run=run, pair=pair, **words).replace(f"diamond {NARROW}", f"diamond {lattice}")


def cutoff_of(path):
    info = dptrain.load(path).info
    assert info["n_basis"] == round(4 * info["rcut"]) and info["rcut_smth"] == pytest.approx(info["rcut"] / 3)
    return info["rcut"]


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("lattice, nearest, rcut", [(NARROW, "2.35", 6.0), (WIDE, "2.86", 7.5)])
def test_a_run_chooses_it(lattice, nearest, rcut, ranks, lammps, tmp_path):
    """2.6 times the distance of neighbors, in steps of a half; LAMMPS sends as many ghosts, and the log says why."""
    output = lammps(learns(lattice=lattice), ranks).check().output
    assert f"Fix dptrain: cutoff {rcut:g} Angstrom, by the distance of nearest neighbors ({nearest} Angstrom)" in output
    assert f"ghost atom cutoff = {rcut + 2:g}\n" in output
    assert cutoff_of(tmp_path / "si.dp") == rcut


def test_atoms_may_come_after_the_pair_style(lammps, tmp_path):
    text = learns()
    create = "create_atoms 1 box\n"
    text = text.replace(create, "").replace("fix t all", f"{create}velocity all create 2000 87287 loop geom\nfix t all")
    text = text.replace("mass 1 28.0855\nvelocity all create 2000 87287 loop geom\n", "mass 1 28.0855\n")
    lammps(text).check()
    assert cutoff_of(tmp_path / "si.dp") == 7.5


def test_a_number_is_taken_as_it_is(lammps, tmp_path):
    write_input(tmp_path)
    (tmp_path / "input.json").write_text(json.dumps({"model": {"type_map": ["Si"], "descriptor": {"type": "power_spectrum", "rcut": 4.2}}}))
    output = lammps(learns(pair=NEW.replace("new", "input.json"))).check().output
    assert "nearest neighbors" not in output and "ghost atom cutoff = 6.2\n" in output
    assert cutoff_of(tmp_path / "si.dp") == 4.2


def test_auto_is_the_same_as_nothing(lammps, tmp_path):
    (tmp_path / "input.json").write_text(json.dumps({"model": {"type_map": ["Si"], "descriptor": {"type": "power_spectrum", "rcut": "auto"}}}))
    lammps(learns(pair=NEW.replace("new", "input.json"))).check()
    assert cutoff_of(tmp_path / "si.dp") == 7.5


def test_a_start_of_the_switch_beyond_it(message, tmp_path):
    (tmp_path / "input.json").write_text(json.dumps({"model": {"type_map": ["Si"], "descriptor": {"type": "power_spectrum", "rcut_smth": 6.2}}}))
    output = message(learns(lattice=NARROW, pair=NEW.replace("new", "input.json"))).output
    assert "rcut_smth is 6.2 Angstrom, and the cutoff, which the input leaves open, is 6: give rcut as well" in output


def test_another_descriptor_does_not_choose(message, tmp_path):
    write_input(tmp_path, {"rcut": "auto"})
    assert "this descriptor does not choose a cutoff" in message(learns(pair=NEW.replace("new", "input.json"))).output


@pytest.mark.parametrize("mode", ["mode passive ", "mode active accuracy 0.05 "])
def test_a_run_that_goes_on_keeps_it(mode, lammps, tmp_path):
    """The atoms are others by then; frames without a checkpoint make a new model."""
    lammps(learns(mode + OPTIONS)).check()
    output = lammps(learns(f"{mode}{OPTIONS}resume si.dp", NARROW)).check().output
    assert "resumed from si.dp.ckpt" in output and "nearest neighbors" not in output and "ghost atom cutoff = 9.5\n" in output
    assert cutoff_of(tmp_path / "si.dp") == 7.5
    (tmp_path / "si.dp.ckpt").unlink()
    output = lammps(learns(f"{mode}{OPTIONS}resume si.dp", NARROW)).check().output
    assert "there is no checkpoint" in output and "cutoff 6 Angstrom" in output
    assert cutoff_of(tmp_path / "si.dp") == 6.0


def test_it_is_chosen_once(lammps, tmp_path):
    """Not at the next run, whose box is another; a new model of a second pair_coeff has its own."""
    text = learns(lattice=NARROW) + "change_box all x scale 1.3 y scale 1.3 z scale 1.3 remap\nrun 5\npair_coeff * * new Si\nrun 10\n"
    output = lammps(text).check().output
    assert [line.split("cutoff ")[1].split()[0] for line in output.splitlines() if "nearest neighbors" in line] == ["6", "7.5"]
    assert cutoff_of(tmp_path / "si.dp") == 7.5


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_fix_with_a_model_of_its_own(ranks, lammps, tmp_path):
    text = learns(pair="pair_style sw\npair_coeff * * Si.sw Si").replace("dptrain reference pair sw coeff \"* * Si.sw Si\" end",
                                                                        "dptrain model new Si reference run")
    output = lammps(text, ranks).check().output
    assert "Fix dptrain: cutoff 7.5 Angstrom" in output and cutoff_of(tmp_path / "si.dp") == 7.5


def test_lengths_of_other_units(lammps, tmp_path):
    """In Bohr, in electron units."""
    text = ATOMS.replace("units metal", "units electron").replace("diamond 5.431", f"diamond {6.6 / 0.529177249}").replace("timestep 0.001", "timestep 1")
    text += f"{NEW}\nfix t all dptrain reference pair lj/cut 8.0 coeff \"* * 0.001 4.0\" end mode passive {OPTIONS}\nfix n all nve\nrun 5\n"
    assert "cutoff 7.5 Angstrom" in lammps(text).check().output
    assert cutoff_of(tmp_path / "si.dp") == 7.5


def test_partitions_take_the_largest(tmp_path):
    """One model cannot have two cutoffs."""
    text = shared(f"{EAGER} save 100000 si.dp", pair=NEW, run="run 5").replace("diamond 5.431", "diamond $l")
    started = Job(tmp_path, "variable l world 5.431 6.6\n" + text, (1, 2))
    try:
        narrow, wide = [result.check().output for result in started.finish()]
    finally:
        started.kill()
    assert "cutoff 7.5 Angstrom, the largest of the partitions" in narrow and "cutoff 7.5 Angstrom, by the distance" in wide
    assert "ghost atom cutoff = 9.5\n" in narrow and cutoff_of(tmp_path / "si.dp") == 7.5


def test_it_is_not_chosen_before_there_is_a_fix(lammps, tmp_path):
    """Commands that set up the styles for themselves come before: atoms at the same place are deleted, the box changes, and a
    checkpoint is resumed after it was chosen."""
    text = learns(lattice=NARROW)
    before = "create_atoms 1 single 1.0 1.0 1.0\ncreate_atoms 1 single 1.0 1.0 1.0\n"
    text = text.replace("fix t all", f"{before}delete_atoms overlap 1.5 all all\nwrite_data atoms.data\nchange_box all x scale 1.215 y scale 1.215 z "
                        "scale 1.215 remap\nfix t all")
    output = lammps(text).check().output
    assert output.count("nearest neighbors") == 1 and cutoff_of(tmp_path / "si.dp") == 7.5
    text = learns(f"{OPTIONS}", NARROW, run="").replace("warmup 2", "warmup 5").replace("save 1000 si.dp", "save 1000 other.dp") + f"run 0\nunfix t\nfix t all dptrain mode passive {REFERENCE} {OPTIONS} resume si.dp\nrun 5\n"
    output = lammps(text.replace("thermo_style custom step temp pe press f_t f_t[*]", "")).check().output
    assert "resumed from si.dp.ckpt" in output and output.count("ghost atom cutoff = 8\n") == 1 and "ghost atom cutoff = 9.5\n" in output


def test_settings_of_a_file_beside_it(lammps, message, tmp_path):
    """`input FILE`: with the same model, whose cutoff it leaves open, too; another cutoff is another model."""
    document = {"model": {"type_map": ["Si"], "descriptor": {"type": "power_spectrum"}}, "loss": {"start_pref_v": 0, "limit_pref_v": 0}}
    (tmp_path / "input.json").write_text(json.dumps(document))
    lammps(learns(f"{OPTIONS}input input.json")).check()
    assert cutoff_of(tmp_path / "si.dp") == 7.5
    document["model"]["descriptor"]["rcut"] = 5.0
    (tmp_path / "input.json").write_text(json.dumps(document))
    assert "rcut is 5 there and 7.5 here" in message(learns(f"{OPTIONS}input input.json")).output


def test_names_that_are_no_elements(lammps, tmp_path):
    """It is not known which of them are hydrogen."""
    (tmp_path / "input.json").write_text(json.dumps({"model": {"type_map": ["HW", "OW"], "descriptor": {"type": "power_spectrum"}}}))
    output = lammps(learns(pair="pair_style dptrain\npair_coeff * * input.json OW")).check().output
    assert "cutoff 6 Angstrom, as HW is no chemical element" in output and cutoff_of(tmp_path / "si.dp") == 6.0


def test_a_session_of_python(tmp_path):
    """The first frame decides; what it is resumed from is kept. Copper of two lattice constants: 2.556 and 2.9 Angstrom."""
    pytest.importorskip("ase")
    from ase.build import bulk
    from ase.calculators.emt import EMT

    def reference(positions, types, cell):
        atoms = bulk("Cu", cubic=True).repeat(2)
        atoms.positions, atoms.cell = positions, cell
        atoms.calc = EMT()
        return atoms.get_potential_energy(), atoms.get_forces(), None

    def run(a, **options):
        atoms, told = bulk("Cu", a=a, cubic=True).repeat(2), []
        with dptrain.Session("cu.json", reference, mode="passive", every=1, warmup=1, train=2, save="cu.dp", log=told.append, **options) as session:
            rng = np.random.default_rng(3)
            for _ in range(2):
                session.step(atoms.positions + rng.normal(0, 0.02, (32, 3)), ["Cu"] * 32, atoms.cell.array)
        return [line for line in told if "nearest neighbors" in line]

    (tmp_path / "cu.json").write_text(json.dumps({"model": {"type_map": ["Cu"], "descriptor": {"type": "power_spectrum"}}}))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert len(run(3.615)) == 1 and cutoff_of("cu.dp") == 6.5
        assert run(4.1, resume="cu.dp") == [] and cutoff_of("cu.dp") == 6.5


# --- from data sets

def document(**descriptor):
    return {"model": {"type_map": ["O", "H", "Si"], "descriptor": {"type": "power_spectrum", "n_max": 4, "l_max": 1, **descriptor}},
            "training": {"training_data": {"systems": "wide.xyz", "batch_size": 2}, "numb_steps": 4, "save_freq": 4, "disp_freq": 4}}


def write_frames(path, a):
    """Diamond with atoms that have moved, and no forces."""
    ase_build, ase_io = pytest.importorskip("ase.build"), pytest.importorskip("ase.io")
    from ase.calculators.singlepoint import SinglePointCalculator

    frames = []
    for seed in range(4):
        atoms = ase_build.bulk("Si", a=a, cubic=True)
        atoms.rattle(0.02, seed=seed)
        atoms.calc = SinglePointCalculator(atoms, energy=0.1 * seed, forces=np.zeros((8, 3)))
        frames.append(atoms)
    ase_io.write(path, frames)


@pytest.fixture
def train(lammps, tmp_path):
    write_frames(tmp_path / "wide.xyz", 6.6)
    write_frames(tmp_path / "narrow.xyz", 5.431)
    return training(lammps, tmp_path)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_training_chooses_it(ranks, train, tmp_path):
    output = train(document(), "--output out.json", ranks).check().output
    assert "cutoff 7.5 Angstrom, by the distance of nearest neighbors (2.8" in output
    assert cutoff_of(tmp_path / "model.ckpt-4.dp") == 7.5
    written = json.loads((tmp_path / "out.json").read_text())["model"]["descriptor"]
    assert written["rcut"] == 7.5 and written["n_basis"] == 30


def test_a_training_that_goes_on_keeps_it(train, tmp_path):
    """With other data, too; a new one of these has another. A model that the input does not fit is named."""
    train(document()).check()
    settings = document()
    settings["training"].update(numb_steps=8, training_data={"systems": "narrow.xyz", "batch_size": 2})
    for option in ("--restart model.ckpt-4.dp", "--init-model model.ckpt-4.dp", "--finetune model.ckpt-4.dp"):
        output = train(settings, option).check().output
        assert "nearest neighbors" not in output and cutoff_of(tmp_path / "model.ckpt-8.dp") == 7.5, option
    output = train(document(n_basis=5), "--restart model.ckpt-4.dp").output
    assert "n_basis is 30 there and 5 here" in output and "rcut" not in output.split("another model")[1]
    assert "rcut is 7.5 there and 6 here" in train(document(rcut=6.0), "--restart model.ckpt-4.dp").output
    train(settings).check()
    assert cutoff_of(tmp_path / "model.ckpt-8.dp") == 6.0


def test_data_of_separate_atoms_and_molecules(train, tmp_path):
    """No neighbors in reach: the usual 6 Angstrom."""
    ase, ase_io = pytest.importorskip("ase"), pytest.importorskip("ase.io")
    from ase.calculators.singlepoint import SinglePointCalculator

    frames = []
    for distance in (0.7, 0.8, 0.9):
        atoms = ase.Atoms("H2", positions=[[0, 0, 0], [distance, 0, 0]])
        atoms.calc = SinglePointCalculator(atoms, energy=distance, forces=np.zeros((2, 3)))
        frames.append(atoms)
    ase_io.write(tmp_path / "wide.xyz", frames)
    assert "cutoff 6 Angstrom, as there are no neighbors to choose it by" in train(document()).check().output
    assert cutoff_of(tmp_path / "model.ckpt-4.dp") == 6.0
