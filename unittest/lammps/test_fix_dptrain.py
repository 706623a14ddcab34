"""`fix dptrain`: labels against what LAMMPS computes itself, training through runs, ranks, units and restarts."""

import re

import numpy as np
import pytest

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
    assert np.abs(second["Press"] - native["Press"]).max() < 1e-9 * np.abs(native["Press"]).max()
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
    ("eam/alloy", "* * CuNi.eam.alloy Cu"),            # communicates inside compute()
    ("meam", "* * library.meam Cu Cu.meam Cu"),        # ditto, with wide buffers and two lists
    ("airebo 2.0", "* * CH.airebo C"),                 # needs neighbors of ghosts, and three times its cutoff
    ("tersoff", "* * Si.tersoff Si")])
def test_second_pair_styles(ranks, reference, coeff, silicon, tmp_path):
    """Each gives the energy, forces and virial that it gives as the style of the run."""
    style = reference.split()[0]
    fix = f"fix t all dptrain reference pair {reference} coeff \"{coeff}\" end every 1 warmup 100 dataset data"
    rattle = "displace_atoms all random 0.1 0.1 0.1 4711 units box\n"
    silicon(f"{ATOMS}{rattle}{PAIR}\n{fix}\nrun 0\n", ranks).check()
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


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_agree(ranks, silicon):
    """Adam in double precision: the same training on any number of ranks, while the reference drives the atoms."""
    text = learn("every 2 warmup 4 train 5 follow reference", run="run 12", thermo="thermo 2\n")
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
    """The first step of a run is the last of the run before: it is labelled once, and the state lives on."""
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
    second = second.thermo()
    for name in ("f_t", "f_t[1]", "f_t[3]", "f_t[4]", "f_t[7]"):
        assert second[name][0] == first[name][-1], name
        assert second[name][-1] == whole[name][-1], name
    assert second["PotEng"][-1] == pytest.approx(whole["PotEng"][-1], rel=1e-12)


def test_resume_under_another_name_takes_the_frames_along(silicon, tmp_path):
    silicon(learn("every 5 warmup 2 train 5 save 1000 a.dp", run="run 10")).check()
    silicon(learn("every 5 warmup 2 train 5 save 1000 b.dp resume a.dp.ckpt", run="run 10")).check()
    result = silicon(learn("every 50 train 5 resume b.dp.ckpt", run="run 0")).check()
    frames = int(re.search(r"resumed from b.dp.ckpt: (\d+) frames", result.output).group(1))
    assert frames == 6  # 3 of the first run; the second starts from other positions at step 0 again


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


def test_no_update_in_a_minimization(silicon):
    pair = "pair_style dptrain\npair_coeff * * si.dp Si"
    silicon(learn("every 5 warmup 2 train 20 save 1000 si.dp", run="run 10")).check()
    result = silicon(learn("every 1 train 1", pair=pair, run="minimize 0 1e-4 20 50\nrun 2")).check()
    assert result.thermo()["f_t[1]"][-1] == 3  # steps of the run


@pytest.mark.parametrize("options", ["optimizer adamw batch 3", "batch 2 buffer 2", "optimizer adam warmup 1"])
def test_training_keywords(options, silicon):
    thermo = silicon(learn(f"every 5 train 5 warmup 2 {options}", run="run 15")).check().thermo()
    assert thermo["f_t[7]"][-1] == 20 and np.isfinite(thermo["f_t"][-1])


def test_units_do_not_matter(silicon, tmp_path):
    """The same atoms in units real and metal: the same training in eV and Angstrom (constants differ by 1e-7)."""
    dump = f"{ATOMS}pair_style sw\npair_coeff * * Si.sw Si\nfix n all nve\ndump d all custom 2 si.dump id type x y z\n" \
           "dump_modify d format float %.17g\nrun 8\n"
    silicon(dump).check()
    options = "fix t all dptrain reference pair sw coeff \"* * Si.sw Si\" end every 2 warmup 2 train 5 disp 1 {0}.out\n"
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
            f"fix t all dptrain reference pair sw coeff \"* * Si.sw Si\" end every 1 warmup 1 train 1 save 1 si.dp dataset data\nrun 0\n",
            ranks).check()
    # one step is done; its report belongs to the model before it, so compare the saved model with a second fix
    pair = "pair_style dptrain\npair_coeff * * si.dp Si\n"
    text = f"{atoms}change_box all {'z final -5 16' if 'f' in boundary else ''}\n{pair}" \
           "fix t all dptrain reference pair sw coeff \"* * Si.sw Si\" end every 1 train 1 input input.json\n" \
           "dump d all custom 1 model.dump id fx fy fz\ndump_modify d sort id format float %.17g\n" \
           "thermo_style custom step pe f_t[3] f_t[4]\nthermo_modify format float %.17g\nrun 0\n"
    model = silicon(text, ranks).check()
    native = silicon(f"{atoms}change_box all {'z final -5 16' if 'f' in boundary else ''}\npair_style sw\npair_coeff * * Si.sw Si\n"
                     "dump d all custom 1 native.dump id fx fy fz\ndump_modify d sort id format float %.17g\nrun 0\n", ranks).check()
    difference = model.dump("model.dump")[:, 1:] - native.dump("native.dump")[:, 1:]
    assert model.thermo()["f_t[4]"][0] == pytest.approx(np.sqrt((difference**2).mean()), rel=1e-6)
