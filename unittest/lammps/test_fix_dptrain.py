"""`fix dptrain`: labels against what LAMMPS computes itself, training through runs, ranks, units and restarts."""

import re
import shutil

import h5py
import numpy as np
import pytest

from active import stored_frames
from silicon import ATOMS, PAIR, learn, write_input

NKTV2P = 1.6021765e6


@pytest.fixture
def silicon(lammps, tmp_path):
    write_input(tmp_path)
    return lammps


def system_of(folder):
    """Arrays of the only system in a data set folder."""
    (system,) = [p for p in folder.iterdir() if p.is_dir()]
    sets = sorted(system.glob("set.*"))
    return {name: np.concatenate([np.load(s / f"{name}.npy") for s in sets]) for name in ("coord", "box", "energy", "force", "virial")}


NATIVE = """compute p all pressure NULL virial
dump d all custom 5 native.dump id fx fy fz
dump_modify d sort id format float %.17g
"""


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_labels_are_those_of_the_reference(ranks, silicon, tmp_path):
    """The run is driven by the reference until the first training has ended: its trajectory, pressure and labels are
    those of a run with the reference as pair style, where `reference run` takes the labels."""
    sw = "pair_style sw\npair_coeff * * Si.sw Si"
    thermo = "thermo 5\n" + NATIVE
    native = silicon(learn("model input.json Si every 5 warmup 100 dataset native", pair=sw, reference="reference run",
                           thermo=thermo), ranks).check().thermo()
    second = silicon(learn("every 5 warmup 100 dataset second", thermo="thermo 5\n"), ranks).check().thermo()
    for name in ("Press", "PotEng"):  # without model, thermo output shows the reference
        assert np.abs(second[name] - native[name]).max() < 1e-9 * np.abs(native[name]).max()
    a, b = system_of(tmp_path / "native"), system_of(tmp_path / "second")
    assert a["energy"].shape[0] == 5
    for name, values in a.items():
        assert np.abs(b[name] - values).max() < 1e-10 * max(np.abs(values).max(), 1), name
    # against LAMMPS' own output: energy, forces (stored by atom id), virial = pressure times volume without momenta
    assert np.abs(a["energy"].ravel() - native["PotEng"]).max() < 1e-10 * np.abs(native["PotEng"]).max()
    blocks = (tmp_path / "native.dump").read_text().split("ITEM: ATOMS")[1:]
    for k, block in enumerate(blocks):
        forces = np.array([line.split()[1:] for line in block.splitlines()[1:65]], float)
        assert np.abs(a["force"][k].reshape(-1, 3) - forces).max() < 1e-10 * max(np.abs(forces).max(), 1e-3)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("reference, coeff", [
    ("lj/cut 7.0", "* * 0.05 2.1"),                    # reaches further than the model: own list and ghosts
    ("lj/cut 4.0", "* * 0.05 2.1\" modify \"tail yes"),  # tail corrections are asked for by pair_modify
    ("eam/alloy", "* * CuNi.eam.alloy Cu"),            # communicates inside compute()
    ("meam", "* * library.meam Cu Cu.meam Cu"),        # ditto, with wide buffers and two lists
    ("airebo 2.0", "* * CH.airebo C"),                 # needs neighbors of ghosts, and three times its cutoff
    ("tersoff", "* * Si.tersoff Si")])
def test_second_pair_styles(ranks, reference, coeff, silicon, tmp_path):
    """Each gives the energy, forces and virial that it gives as the style of the run."""
    style = reference.split()[0]
    fix = f"fix t all dptrain mode passive reference pair {reference} coeff \"{coeff}\" end every 1 warmup 100 dataset data"
    rattle = "displace_atoms all random 0.1 0.1 0.1 4711 units box\n"
    silicon(f"{ATOMS}{rattle}{PAIR}\n{fix}\nrun 0\n", ranks).check()
    coeff = coeff.replace('" modify "', "\npair_modify ")
    native = silicon(f"""{ATOMS}{rattle}pair_style {reference}\npair_coeff {coeff}
compute p all pressure NULL virial
dump d all custom 1 native.dump id fx fy fz
dump_modify d sort id format float %.17g
thermo_style custom step pe c_p[*] vol
thermo_modify format float %.17g
run 0
""", ranks).check()
    labels, thermo = system_of(tmp_path / "data"), native.thermo()
    assert labels["energy"].ravel()[0] == pytest.approx(thermo["PotEng"][0], rel=1e-12), style
    forces = native.dump("native.dump")[:, 1:]
    assert np.abs(labels["force"].reshape(-1, 3) - forces).max() < 1e-11 * np.abs(forces).max()
    virial = np.array([thermo[f"c_p[{k}]"][0] for k in range(1, 7)]) * thermo["Volume"][0] / NKTV2P
    assert np.abs(labels["virial"].ravel()[[0, 4, 8, 1, 2, 5]] - virial).max() < 1e-10 * np.abs(virial).max()


@pytest.mark.parametrize("ranks", [1, 2])
def test_reference_reaches_further_for_some_types(ranks, silicon, tmp_path):
    """Neighbor lists of the run are cut for each pair of types: the largest cutoff says nothing about the others."""
    write_input(tmp_path, types=["Si", "Ge"])
    atoms = ATOMS.replace("create_box 1", "create_box 2").replace("mass 1", "mass *") + \
        "set group all type/fraction 2 0.5 12345\ndisplace_atoms all random 0.1 0.1 0.1 4711 units box\n"
    run = "pair_style lj/cut 8.0\npair_coeff 1 1 0.05 2.1 8.0\npair_coeff * 2 0.05 2.1 3.0\n"
    fix = "fix t all dptrain model input.json Si Ge reference pair lj/cut 7.0 coeff \"* * 0.05 2.1\" end warmup 100 dataset data\n"
    native = "unfix t\npair_style lj/cut 7.0\npair_coeff * * 0.05 2.1\nrun 0\nprint \"RESULT pe $(pe:%.17g)\"\n"
    result = silicon(f"{atoms}{run}{fix}run 0\n{native}", ranks).check()
    assert system_of(tmp_path / "data")["energy"].ravel()[0] == pytest.approx(result.value("pe"), rel=1e-12)


def test_comm_modify_after_the_fix(silicon):
    """The ghost cutoff of the user counts, whenever it was given, and is there again after unfix."""
    text = learn("every 5 warmup 100", reference='reference pair lj/cut 6.0 coeff "* * 0.05 2.1" end', run="run 0")
    text = text.replace("run 0", "comm_modify cutoff {0}\nrun 0\nunfix t\nthermo_style one\npair_style sw\npair_coeff * * Si.sw Si\nrun 0")
    for user, expected in ((12.0, [12, 12]), (7.0, [8, 7])):
        output = silicon(text.format(user)).check().output
        assert [float(x) for x in re.findall(r"ghost atom cutoff = (\S+)", output)] == expected


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_agree(ranks, silicon):
    """Adam in double precision: the same training on any number of ranks, while the reference drives the atoms."""
    text = learn("every 2 warmup 4 train 5 follow reference optimizer adam", run="run 12", thermo="thermo 2\n")
    one = silicon(text).check().thermo()
    many = silicon(text, ranks).check().thermo()
    for name in ("f_t", "f_t[1]", "f_t[3]", "f_t[4]", "f_t[5]", "f_t[6]", "f_t[7]"):
        assert np.allclose(many[name], one[name], rtol=1e-8, atol=1e-12), name


def test_steps_outputs_and_files(silicon, tmp_path):
    result = silicon(learn("every 5 warmup 3 train 7 save 10 si.dp disp 5 curve.out stat stat.json seed 3", run="run 25")).check()
    thermo = result.thermo()
    assert list(thermo["f_t[1]"]) == [1, 3, 5, 6]                 # labels of steps 0 5 10 15 20 25, seen at 0 10 20 25
    assert list(thermo["f_t[7]"]) == [0, 21, 35, 42]              # 7 steps per label, none during the warm-up
    assert list(thermo["f_t[2]"]) == [1, 11, 13, 14]              # the reference drove steps 0 to 10
    assert thermo["f_t"][-1] > 0 and np.all(thermo["f_t[11]"] == 0) and thermo["f_t[10]"][-1] > 0
    for name in ("si.dp", "si.dp.ckpt", "si.dp.frames", "curve.out", "stat.json"):
        assert (tmp_path / name).stat().st_size > 0, name
    lines = [line for line in (tmp_path / "curve.out").read_text().splitlines() if not line.startswith("#")]
    assert [int(line.split()[0]) for line in lines] == [1, 5, 10, 15, 20, 25, 30, 35, 40]
    # both files run, and give the model that is in use
    energies = [silicon(f"{ATOMS}pair_style dptrain\npair_coeff * * {name} Si\nrun 0\nprint \"RESULT pe $(pe:%.17g)\"\n").check().value("pe")
                for name in ("si.dp", "si.dp.ckpt")]
    assert energies[0] == pytest.approx(energies[1], rel=1e-13)


@pytest.mark.parametrize("ranks", [1, 2])
def test_runs_are_one_training(ranks, silicon):
    """The first step of a run is the last of the run before: it is labeled once, and the state lives on."""
    options = "every 5 warmup 2 train 5 follow reference"  # else the second run starts with the model as trained in step 10
    one = silicon(learn(options, run="run 20"), ranks).check().thermo()
    two = silicon(learn(options, run="run 10\nrun 10"), ranks).check().thermo()
    for name in ("f_t[1]", "f_t[7]"):
        assert two[name][-1] == one[name][-1], name
    assert two["f_t"][-1] == pytest.approx(one["f_t"][-1], rel=1e-6)


@pytest.mark.parametrize("ranks", [1, 2])
def test_resume_continues_to_the_same_numbers(ranks, silicon, tmp_path):
    """Optimizer, order of the frames, buffer and model survive a new process bit by bit; so do atoms in a restart file."""
    options = "every 5 warmup 2 train 5 batch 2 buffer 3 save 1000 si.dp"
    whole = silicon(learn(options, run="run 15\nrun 15"), ranks).check().thermo()
    assert not (tmp_path / "si.dp.frames.old").exists()
    first = silicon(learn(options, run="run 15\nwrite_restart si.restart"), ranks).check().thermo()
    assert (tmp_path / "si.dp.frames.old").exists()                # labels of another run are not overwritten
    fix = learn(options + " resume si.dp", run="run 15").split("timestep 0.001\n")[1]
    second = silicon("read_restart si.restart\ntimestep 0.001\n" + fix, ranks).check()
    assert "resumed from si.dp.ckpt: 4 frames, 20 optimizer steps" in second.output
    rows = second.thermo()
    for name in ("f_t", "f_t[1]", "f_t[3]", "f_t[4]", "f_t[7]"):
        assert rows[name][0] == first[name][-1], name
        assert second.same_numbers(rows[name][-1], whole[name][-1]), name
    assert rows["PotEng"][-1] == pytest.approx(whole["PotEng"][-1], rel=1e-6 if second.on_gpu() else 1e-12)


def test_resume_under_another_name_takes_the_frames_along(silicon, tmp_path):
    silicon(learn("every 5 warmup 2 train 5 save 1000 a.dp", run="run 10")).check()
    silicon(learn("every 5 warmup 2 train 5 save 1000 b.dp resume a.dp.ckpt", run="run 10")).check()
    result = silicon(learn("every 50 train 5 resume b.dp.ckpt", run="run 0")).check()
    frames = int(re.search(r"resumed from b.dp.ckpt: (\d+) frames", result.output).group(1))
    assert frames == 6  # 3 of the first run; the second starts from other positions at step 0 again


@pytest.mark.parametrize("ranks", [1, 2])
def test_checkpoint_of_a_version_before_the_first_release(ranks, silicon, tmp_path):
    """Is refused, and what the message says works: its model goes on, and learns from all its labels."""
    silicon(learn("every 5 warmup 2 train 5 save 1000 si.dp", run="run 10")).check()
    with h5py.File(tmp_path / "si.dp.ckpt", "r+") as file:
        file["dptrain"].attrs["format_version"] = 2
        del file["dptrain/state"]
    refused = silicon(learn("every 5 train 5 resume si.dp", run="run 0"), ranks)
    assert refused.status != 0 and "si.dp.ckpt: a checkpoint of a version before the first release" in refused.errors()[0]
    shutil.copy(tmp_path / "si.dp.frames", tmp_path / "new.dp.frames")
    pair = "pair_style dptrain\npair_coeff * * si.dp.ckpt Si"
    after = silicon(learn("every 5 train 5 save 1000 new.dp resume new.dp", pair=pair, run="run 0"), ranks).check()
    assert "resumed with the 3 frames of new.dp.frames" in after.output
    with h5py.File(tmp_path / "new.dp.ckpt") as file:
        assert file["dptrain/state/trainer/steps"][()] == (3 + 1) * 5  # and the label of step 0


def test_resume_amid_the_training_of_a_label(silicon, tmp_path):
    """The steps that the last label had earned come first: what follows is what would have followed."""
    options = "every 5 warmup 1 train 10 follow reference save 1000 si.dp"
    whole = silicon(learn(options, run="run 10")).check().thermo()
    # a file beside the training that cannot be written stops the run after its first step, but not before the checkpoint
    (tmp_path / "folder").mkdir()
    failed = silicon(learn(options + " disp 1000 folder", run="run 10"))
    assert failed.status != 0 and "cannot write the learning curve 'folder'" in failed.errors()[0]
    second = silicon(learn(options + " resume si.dp", run="run 10")).check()
    assert "resumed from si.dp.ckpt: 1 frames, 1 optimizer steps" in second.output
    rows = second.thermo()
    for name in ("f_t", "f_t[1]", "f_t[4]", "f_t[7]"):
        assert second.same_numbers(rows[name], whole[name]), name


def test_warmup_goes_on_with_the_frames_alone(silicon, tmp_path):
    """Labels cost most: those of a run that has ended before there was a model count."""
    options = "every 5 warmup 4 train 5 save 1000 si.dp"
    whole = silicon(learn(options + " follow reference", run="run 20")).check().thermo()
    silicon(learn(options, run="run 10\nwrite_restart si.restart")).check()
    fix = learn(options + " resume si.dp follow reference", run="run 10").split("timestep 0.001\n")[1]
    second = silicon("read_restart si.restart\ntimestep 0.001\n" + fix).check()
    assert "resumed with the 3 frames of si.dp.frames" in second.output
    assert "WARNING: Pair style dptrain" not in second.output  # no parameters, then and now
    second = second.thermo()
    assert second["f_t[1]"][0] == 3 and second["f_t[1]"][-1] == whole["f_t[1]"][-1] == 5
    assert second["f_t[7]"][-1] == whole["f_t[7]"][-1] == 25
    assert second["f_t"][-1] == pytest.approx(whole["f_t"][-1], rel=1e-9)


def test_new_pair_coeff_maps_types_by_name(silicon, tmp_path):
    """The model is given again with its elements in another order: the frames of before stay what they are."""
    atoms = ATOMS.replace("create_box 1", "create_box 2").replace("mass 1", "mass *") + "set group all type/fraction 2 0.3 12345\n"
    lj = 'reference pair lj/cut 4.0 coeff "1 1 0.05 2.1" coeff "1 2 0.08 2.3" coeff "2 2 0.2 2.4" end'
    write_input(tmp_path, types=["Si", "Ge"])
    (tmp_path / "input.json").rename(tmp_path / "first.json")
    for name, types in (("second", ["Ge", "Si"]), ("third", ["Si", "C"])):
        write_input(tmp_path, types=types)
        (tmp_path / "input.json").rename(tmp_path / f"{name}.json")
    text = f"{atoms}pair_style dptrain\npair_coeff * * first.json Si Ge\nfix t all dptrain mode passive {lj} every 5 warmup 2 train 1 save 100 si.dp dataset data\n" \
           "fix n all nve\nrun 5\n"
    silicon(text + "pair_coeff * * second.json Si Ge\nrun 5\n").check()
    types = [list(frame["type"]) for frame in stored_frames(tmp_path / "si.dp.frames")]
    assert len(types) == 3 and types[0] == types[2]  # Ge first in all
    assert sum(types[0]) == np.loadtxt(next((tmp_path / "data").glob("Si*")) / "type.raw").tolist().count(0)
    refused = silicon(text + "pair_coeff * * third.json Si C\nrun 5\n", 2)
    assert refused.status != 0
    assert any("has frames with the element Ge" in line for line in refused.errors())  # MPI may say something before


def test_overlay(silicon, tmp_path):
    """Beside another style the labels are those of the reference alone, and follow replaces the model's part alone."""
    pair = "pair_style hybrid/overlay dptrain zbl 1.0 2.0\npair_coeff * * dptrain input.json Si\npair_coeff * * zbl 14 14"
    native = f"unfix t\n{NATIVE.replace('5 native', '1 native')}pair_style {{}}\npair_coeff * * {{}}\nrun 0\n"
    text = learn("every 5 warmup 1 train 5 follow reference dataset data", pair=pair, run="run 10\n{0}")
    text = text.format(native.format("sw", "Si.sw Si"))
    result = silicon(text.replace("f_t f_t[*]", "atoms"), 2).check()
    labels, thermo = system_of(tmp_path / "data"), result.thermo()
    assert labels["energy"].ravel()[-1] == pytest.approx(thermo["PotEng"][-1], rel=1e-12)
    forces = result.dump("native.dump")[:, 1:]
    assert np.abs(labels["force"][-1].reshape(-1, 3) - forces).max() < 1e-11 * np.abs(forces).max()
    zbl = silicon(ATOMS + "pair_style zbl 1.0 2.0\npair_coeff * * 14 14\nrun 0\n").check().thermo()
    assert thermo["PotEng"][0] == pytest.approx(labels["energy"].ravel()[0] + zbl["E_pair"][0], rel=1e-9)


def test_triclinic_cell_that_moves(silicon):
    """Constant pressure, tiled domains that are balanced: any number of ranks gives the same training."""
    atoms = ATOMS.replace("atom_style", "comm_style tiled\natom_style").replace("block 0 2 0 2 0 2", "prism 0 2 0 2 0 2 0.9 0.3 -0.4")
    text = learn("every 2 warmup 2 train 5 follow reference optimizer adam", run="run 6\nchange_box all x scale 1.02 remap\nrun 6", thermo="thermo 2\n",
                 integrate="fix n all npt temp 2000 2000 0.1 tri 0 0 1\nfix b all balance 3 1.0 rcb").replace(ATOMS, atoms)
    one, three = (silicon(text, ranks).check().thermo() for ranks in (1, 3))
    for name in ("PotEng", "Press", "f_t", "f_t[1]", "f_t[3]", "f_t[4]", "f_t[5]"):
        assert np.allclose(three[name], one[name], rtol=1e-7, atol=1e-10), name


def test_small_cell(silicon):
    """Two atoms in a cell smaller than the cutoff, on more ranks than atoms."""
    atoms = ATOMS.split("region")[0] + """region box block 0 1 0 1 0 1
create_box 1 box
create_atoms 1 single 0.1 0.2 0.3 units box
create_atoms 1 single 2.4 2.2 2.0 units box
mass 1 28
"""
    text = learn("every 1 warmup 1 train 3 follow reference optimizer adam", run="run 3", thermo="thermo 1\n").replace(ATOMS, atoms)
    one, four = (silicon(text, ranks).check().thermo() for ranks in (1, 4))
    for name in ("PotEng", "f_t", "f_t[3]", "f_t[4]", "f_t[5]"):
        assert np.allclose(four[name], one[name], rtol=1e-8, atol=1e-12), name


def test_fine_tuning_of_a_given_model(silicon, tmp_path):
    """A trained model learns from the first label on, moves the atoms itself, and becomes better on what it sees."""
    silicon(learn("every 5 warmup 2 train 40 save 1000 si.dp", run="run 20")).check()
    tersoff = "reference pair tersoff coeff \"* * Si.tersoff Si\" end"
    pair = "pair_style dptrain\npair_coeff * * si.dp Si"
    tuned = silicon(learn("every 10 train 150 batch 5 input input.json", run="run 40", pair=pair, reference=tersoff)).check().thermo()
    assert list(tuned["f_t[7]"]) == [150, 300, 450, 600, 750]
    assert list(tuned["f_t[2]"]) == [1, 2, 3, 4, 5]  # the reference is asked at labels only
    # the energies differ by 0.3 eV/atom, the forces by as much as their size (4 eV/A rms): now the errors are small
    assert tuned["f_t[3]"][-1] < 0.05 and tuned["f_t[4]"][-1] < 0.8


def test_labels_above_the_limit_are_discarded(silicon):
    pair = "pair_style dptrain\npair_coeff * * si.dp Si"
    silicon(learn("every 5 warmup 2 train 5 save 1000 si.dp", run="run 5")).check()
    result = silicon(learn("every 5 train 1 fmax 0.001", pair=pair, run="run 20")).check()
    thermo = result.thermo()
    assert thermo["f_t[11]"][-1] >= 4 and thermo["f_t[1]"][-1] + thermo["f_t[11]"][-1] == 5
    assert "is above fmax 0.001" in result.output
    # a new model is driven by the reference all the same
    thermo = silicon(learn("every 5 warmup 2 train 5 fmax 0.001", run="run 20")).check().thermo()
    assert thermo["f_t[11]"][-1] == 4 and thermo["f_t[1]"][-1] == 1  # the perfect crystal of step 0 has no forces
    assert thermo["f_t[2]"][-1] == 21


def test_no_update_in_a_minimization(silicon):
    pair = "pair_style dptrain\npair_coeff * * si.dp Si"
    silicon(learn("every 5 warmup 2 train 20 save 1000 si.dp", run="run 10")).check()
    result = silicon(learn("every 1 train 1", pair=pair, run="minimize 0 1e-4 20 50\nrun 2")).check()
    assert result.thermo()["f_t[1]"][-1] == 3  # steps of the run


def test_units_do_not_matter(silicon, tmp_path):
    """The same atoms in units real and metal: the same training in eV and Angstrom (constants differ by 1e-7)."""
    dump = f"{ATOMS}pair_style sw\npair_coeff * * Si.sw Si\nfix n all nve\ndump d all custom 2 si.dump id type x y z\n" \
           "dump_modify d format float %.17g\nrun 8\n"
    silicon(dump).check()
    options = "fix t all dptrain mode passive reference pair sw coeff \"* * Si.sw Si\" end every 2 warmup 2 train 5 disp 1 {0}.out\n"
    tail = "thermo 2\nthermo_style custom step f_t f_t[3] f_t[4]\nthermo_modify format float %.17g\nrerun si.dump dump x y z\n"
    metal = silicon(ATOMS + PAIR + "\n" + options.format("metal") + tail).check().thermo()
    atoms = ATOMS.replace("units metal", "units real").replace("timestep 0.001", "timestep 1.0")
    real = silicon(atoms + PAIR + "\n" + options.format("real") + tail).check().thermo()
    assert metal["f_t"][-1] > 0
    assert real["f_t"][-1] == pytest.approx(metal["f_t"][-1], rel=1e-4)
    assert real["f_t[4]"][-1] == pytest.approx(metal["f_t[4]"][-1] * 23.06054, rel=1e-4)


def test_variables_in_the_reference(silicon):
    """Quoted arguments keep their variables until the fix expands them."""
    text = learn("every 5 warmup 100", reference='reference pair sw coeff "* * ${FILE} ${ELEMENT}" end', run="run 0")
    silicon("variable FILE string Si.sw\nvariable ELEMENT string Si\n" + text).check()


@pytest.mark.parametrize("boundary", ["f f f", "p p f", "p f f"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_open_boundaries(boundary, ranks, silicon):
    """Energies, forces and virials that the trained model sees in frames are those of the run: after training to nothing
    else than the present frame, model and reference agree as the reported errors say."""
    atoms = ATOMS.replace("atom_style", f"boundary {boundary}\natom_style").replace("2000", "1000")
    atoms = atoms.replace("units metal", "units metal\nnewton on")
    silicon(f"{atoms}change_box all {'z final -5 16' if 'f' in boundary else ''}\n{PAIR}\n"
            f"fix t all dptrain mode passive reference pair sw coeff \"* * Si.sw Si\" end every 1 warmup 1 train 1 save 1 si.dp dataset data\nrun 0\n",
            ranks).check()
    # one step is done; its report belongs to the model before it, so compare the saved model with a second fix
    pair = "pair_style dptrain\npair_coeff * * si.dp Si\n"
    text = f"{atoms}change_box all {'z final -5 16' if 'f' in boundary else ''}\n{pair}" \
           "fix t all dptrain mode passive reference pair sw coeff \"* * Si.sw Si\" end every 1 train 1 input input.json\n" \
           "dump d all custom 1 model.dump id fx fy fz\ndump_modify d sort id format float %.17g\n" \
           "thermo_style custom step pe f_t[3] f_t[4]\nthermo_modify format float %.17g\nrun 0\n"
    model = silicon(text, ranks).check()
    native = silicon(f"{atoms}change_box all {'z final -5 16' if 'f' in boundary else ''}\npair_style sw\npair_coeff * * Si.sw Si\n"
                     "dump d all custom 1 native.dump id fx fy fz\ndump_modify d sort id format float %.17g\nrun 0\n", ranks).check()
    difference = model.dump("model.dump")[:, 1:] - native.dump("native.dump")[:, 1:]
    assert model.thermo()["f_t[4]"][0] == pytest.approx(np.sqrt((difference**2).mean()), rel=1e-6)
