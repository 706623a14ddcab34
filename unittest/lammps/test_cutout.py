"""`cutout R` of fix dptrain: the reference gets the surroundings of the worst atoms, and never the box.

The model has learned in a box of 64 atoms, and runs in one of 512.
"""

import json
import shutil

import numpy as np
import pytest
from active import decisions, events, stored_frames
from lammps_runner import Result, finish, run_lammps
from silicon import ATOMS, COLUMNS, MODEL, REFERENCE, learn, write_input
from test_bad_input import stops_with

SMALL = "mode active every 5 warmup 3 train 20 optimizer adam accuracy 0.08 save 1000 si.dp"
LARGE = ATOMS.replace("block 0 2 0 2 0 2", "block 0 4 0 4 0 4").replace("create 2000", "create 3000")
PAIR = "pair_style dptrain\npair_coeff * * si.dp Si"
OPTIONS = "mode active every 5 train 20 optimizer adam accuracy 0.03 limit 50 repeat audit 20 cutout 7 save 1000 large.dp "
SW = "pair_style sw\npair_coeff * * Si.sw Si"
MOVE = "displace_atoms all random 0.2 0.2 0.2 4711 units box\n"
CUTOFF, RADIUS = 4.5, 7.0


def text(options=OPTIONS, run="run 20", atoms=LARGE, reference=REFERENCE, pair=PAIR):
    return f"{atoms}{pair}\nfix t all dptrain {reference} {options}\nfix n all nve\n{COLUMNS}thermo 5\n{run}\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """si.dp, learned in the small box."""
    folder = tmp_path_factory.mktemp("small")
    write_input(folder)
    run_lammps(folder, learn(SMALL, run="run 60")).check()
    return folder / "si.dp"


@pytest.fixture
def trained(model, lammps, tmp_path):
    """LAMMPS in a folder with a copy of it."""
    shutil.copy(model, tmp_path)
    return lammps


def forces_of(pair, silicon, frame):
    """Forces of a pair style on the atoms of a frame, in their box."""
    atoms = "\n".join(f"create_atoms 1 single {x:.17g} {y:.17g} {z:.17g} units box" for x, y, z in frame["coord"])
    lx, ly, lz = frame["box"][[0, 4, 8]]
    result = silicon(f"units metal\natom_modify map yes\nregion box block 0 {lx:.17g} 0 {ly:.17g} 0 {lz:.17g} units box\n"
                     f"create_box 1 box\n{atoms}\nmass 1 28\n{pair}\n"
                     "dump d all custom 1 own.dump id fx fy fz\ndump_modify d sort id format float %.17g\nrun 0\n").check()
    return result.dump("own.dump")[:, 1:]


def test_labels_are_those_of_the_pair_style_around_the_worst_atoms(trained, tmp_path):
    result = trained(text()).check()
    rows, frames = events(result.output), stored_frames(tmp_path / "large.dp.frames")
    assert len(frames) >= 4 and {row["moved_by"] for row in rows} == {"model"}
    assert int(rows[-1]["calls"]) == len(rows)
    steps = [int(row["step"]) for row in rows]
    assert max(steps.count(step) for step in steps) == 4  # several in a step
    for frame in frames:
        assert frame["energy"] is None and frame["virial"] is None
        assert np.allclose(frame["box"], np.diag([2 * RADIUS + CUTOFF] * 3).ravel())
        distance = np.linalg.norm(frame["coord"] - (RADIUS + CUTOFF / 2), axis=1)  # from the middle of the box
        assert distance.min() < 1e-9 and distance.max() <= RADIUS and 50 < len(distance) < 100
        assert np.array_equal(frame["weight"], distance <= RADIUS - CUTOFF)
        assert 1 <= frame["weight"].sum() < 10
    for frame in frames[:3]:
        assert np.abs(frame["force"] - forces_of(SW, trained, frame)).max() < 1e-9
    assert "cut-outs: " in result.output
    # what was learned at an atom is known there; the first labels are below the threshold, and nothing is trained with them
    learned = [row for row in rows if row["learned"] not in ("-", "held_out", "duplicate", row["true"])]
    assert len(learned) >= 8
    assert np.mean([float(row["learned"]) < float(row["true"]) for row in learned]) > 0.7


def test_a_baseline_of_the_cut_outs(lammps, tmp_path):
    """What is learned from a cut-out is the difference of the two force fields on that cut-out."""
    write_input(tmp_path)
    lammps(learn(SMALL + ' baseline pair zbl 2.0 3.0 coeff "* * 14 14" end', run="run 60")).check()
    lammps(text(run="run 10")).check()
    zbl = "pair_style zbl 2.0 3.0\npair_coeff * * 14 14"
    frames = stored_frames(tmp_path / "large.dp.frames")
    assert frames and all(frame["weight"] is not None for frame in frames)
    for frame in frames[:3]:
        baseline = forces_of(zbl, lammps, frame)
        assert np.abs(baseline).max() > 0.5
        assert np.abs(frame["baseline_force"] - baseline).max() < 1e-9
        assert np.abs(frame["force"] - (forces_of(SW, lammps, frame) - baseline)).max() < 1e-9


def test_true_errors_are_those_in_the_box(trained, tmp_path):
    """A model that does not learn: its forces in the box of 512 atoms against the reference on the cut-out."""
    pair = MOVE + PAIR + "\ndump m all custom 1 model.dump id x y z fx fy fz\ndump_modify m sort id format float %.17g"
    options = OPTIONS.replace("train 20", "train 0").replace("cutout 7", "cutout 7 most 1")
    result = trained(text(options, run="run 0", pair=pair)).check()
    (event,), (frame,) = events(result.output), stored_frames(tmp_path / "large.dp.frames")
    table = result.dump("model.dump")[:, 1:]
    edge, middle = 4 * 5.431, np.argmin(np.linalg.norm(frame["coord"] - (RADIUS + CUTOFF / 2), axis=1))
    errors = []
    for k in np.flatnonzero(frame["weight"]):
        # the atom of the box with the same distances to all others of the cut-out
        own = np.sort(np.linalg.norm(frame["coord"] - frame["coord"][k], axis=1))[1:13]
        apart = table[:, None, :3] - table[None, :, :3]
        apart -= edge * np.round(apart / edge)
        nearest = np.sort(np.linalg.norm(apart, axis=2), axis=1)[:, 1:13]
        atom = np.argmin(np.abs(nearest - own).max(axis=1))
        assert np.abs(nearest[atom] - own).max() < 1e-9
        errors.append(np.linalg.norm(table[atom, 3:] - frame["force"][k]))
    assert middle in np.flatnonzero(frame["weight"])
    assert float(event["true"]) == pytest.approx(max(errors), rel=1e-3)


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_decide_the_same(ranks, trained, tmp_path):
    """Adam in double precision, as in test_active.py: also which rank computes a label makes no difference. Ids of a crystal's atoms
    depend on the ranks."""
    one = trained(text()).check()
    expected = stored_frames(tmp_path / "large.dp.frames")
    many = trained(text(OPTIONS.replace("large.dp", "many.dp")), ranks).check()
    found = stored_frames(tmp_path / "many.dp.frames")
    assert decisions(many.output) == decisions(one.output)
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        columns = [np.column_stack([f["coord"], f["force"], f["weight"]]) for f in (a, b)]
        sorted_a, sorted_b = (c[np.lexsort(np.round(c[:, :3], 5).T)] for c in columns)
        assert sorted_a.shape == sorted_b.shape and np.allclose(sorted_a, sorted_b, atol=1e-6)
    assert np.allclose(many.thermo()["PotEng"], one.thermo()["PotEng"], rtol=1e-8)


def test_goes_on_from_its_checkpoint(trained, tmp_path):
    """Frames with weights are read again, a minimization stores them too, and the data set has them as atom_pref."""
    trained(text(OPTIONS + "dataset data ", run="run 10\nminimize 0 0 5 5")).check()
    before = len(stored_frames(tmp_path / "large.dp.frames"))
    assert before > 1
    result = trained(text(OPTIONS + "resume large.dp ", run="run 10")).check()
    assert f"resumed from large.dp.ckpt: {before} frames" in result.output
    assert len(stored_frames(tmp_path / "large.dp.frames")) > before
    systems = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert systems and all(name.endswith("_noenergy_novirial_weighted") for name in systems)
    weights = np.load(tmp_path / "data" / systems[0] / "set.000" / "atom_pref.npy")
    assert set(np.unique(weights)) == {0.0, 1.0}


def test_the_second_lammps_leaves_the_styles_of_the_first(trained, tmp_path):
    """An instance that ends tells LAMMPS to forget all plugins; commands after it still know ours."""
    again = "unfix t\nthermo_style one\npair_style sw\npair_coeff * * Si.sw Si\nrun 1\n" + text(OPTIONS.replace("large", "next"), run="run 5").split("\n", 9)[9]
    assert again.count("pair_style dptrain") == 1 and "create_box" not in again
    cleared = f"clear\n{ATOMS}{PAIR}\ncompute u all dptrain/uncertainty/atom\nrun 1\n"
    result = trained(text(run="run 5") + again + cleared).check()
    assert len(stored_frames(tmp_path / "next.dp.frames")) > 0 and result.output.count("Loop time") == 4


def test_data_sets_can_be_trained_from(trained, tmp_path):
    """`dptrain train` with the term pf: its first error is that of LAMMPS' forces on the cores."""
    trained(text(OPTIONS + "dataset data ", run="run 10")).check()
    folder = sorted((tmp_path / "data").iterdir())[0]
    data = {name: np.load(folder / "set.000" / f"{name}.npy") for name in ("box", "coord", "force", "atom_pref")}
    loss = {"type": "ener", **{f"{when}_pref_{term}": 0 for when in ("start", "limit") for term in "efv"}, "start_pref_pf": 1, "limit_pref_pf": 1}
    training = {"training_data": {"systems": [str(folder)], "batch_size": 1}, "numb_steps": 1, "disp_file": "train.out", "disp_freq": 1, "seed": 1}
    (tmp_path / "input.json").write_text(json.dumps({"model": MODEL, "loss": loss, "training": training}))
    trained("dptrain train input.json --init-model si.dp\n").check()
    lines = (tmp_path / "train.out").read_text().splitlines()
    names = next(line[1:].split() for line in lines if "rmse_trn" in line)
    found = float(next(line for line in lines if not line.startswith("#")).split()[names.index("rmse_pf_trn")])
    squares = []
    for k, weight in enumerate(data["atom_pref"]):
        frame = {"box": data["box"][k], "coord": data["coord"][k].reshape(-1, 3)}
        error = forces_of(PAIR, trained, frame) - data["force"][k].reshape(-1, 3)
        squares.append((weight[:, None] * error**2).mean())
    assert any(found == pytest.approx(np.sqrt(square), rel=1e-2) for square in squares)


def test_a_small_box_is_not_cut(trained):
    options = OPTIONS.replace("large.dp", "small.dp").replace("limit 50 repeat ", "")
    whole = trained(text(options.replace("cutout 7 ", ""), atoms=ATOMS)).check()
    cut = trained(text(options.replace("small", "other"), atoms=ATOMS)).check()
    assert "a cut-out would be the whole box, which goes to the reference as it is" in cut.output
    assert decisions(cut.output) == decisions(whole.output)
    assert np.allclose(cut.thermo()["PotEng"], whole.thermo()["PotEng"], rtol=1e-8)


def test_clients_are_told_the_atoms(trained, address, client, start_lammps, tmp_path):
    """`dptrain client` computes cut-outs of different numbers of atoms."""
    reference = f"reference socket {address} wait 60 end"
    run = start_lammps(text(OPTIONS.replace("audit 20 ", "audit 0 "), run="run 10", reference=reference))
    client("ase.calculators.lj.LennardJones:sigma=2.1,epsilon=0.05,rc=4.0", address)
    result: Result = finish(run, tmp_path).check()
    frames = stored_frames(tmp_path / "large.dp.frames")
    assert len({len(frame["force"]) for frame in frames}) > 1
    assert "discarded" not in result.output


@pytest.mark.parametrize("options, reference, texts", [
    ("mode passive cutout 7", None, ["cutout needs 'mode active'"]),
    ("mode active cutout -3", None, ["cutout -3 is not possible: use a positive distance, or none"]),
    ("mode active cutout x", None, ["cutout x is not possible"]),
    ("mode active cutout 7 most 0", None, ["cutout ... most 0 is not possible"]),
    ("mode active cutout 4", None, ["cutout 4 is not possible", "the model's cutoff is 4.5", "a radius above 4.5"]),
    ("mode active cutout 7 core 3", None, ["cutout 7 core 3 is not possible", "above 7.5, or a smaller core"]),
    ("mode active cutout 7 follow reference", None, ["cutout and follow reference contradict"]),
    ("mode active cutout 7", "reference values energy c_thermo_pe forces c_f end", ["'reference values' computes the whole box only"]),
    ("mode active dataset d cutout 7", "reference run", ["'reference run' computes the whole box only"]),
    ("mode active cutout 7", 'reference pair coul/long 6 coeff "* *" kspace "pppm 1e-4" end', ["with kspace computes the whole box only"]),
    ("mode active cutout 7 baseline pair coul/long 7 coeff \"* *\" kspace \"pppm 1e-4\" end", None, ["'baseline' with kspace computes the whole box only"]),
    ("mode active cutout 7", 'reference pair nosuch coeff "* *" end', ["pair style nosuch", "nosuch"]),
    ("mode active cutout 7", 'reference pair sw coeff "* * nosuch.sw Si" end', ["pair style sw", "nosuch.sw"])])
def test_bad_input(options, reference, texts, model, message, tmp_path):
    shutil.copy(model, tmp_path)
    stops_with(message(text(options, run="run 0", reference=reference or REFERENCE), 2), *texts)


def test_models_that_do_not_know(message, tmp_path):
    write_input(tmp_path)
    new = "pair_style dptrain\npair_coeff * * input.json Si"
    stops_with(message(text("mode active cutout 7", run="run 0", pair=new)), "is not trained: train it on a small box first")


def test_two_types_of_one_element(model, message, tmp_path):
    shutil.copy(model, tmp_path)
    two = text("mode active cutout 7", run="run 0", pair=PAIR + " Si", reference=REFERENCE.replace("Si.sw Si", "Si.sw Si Si"))
    stops_with(message(two.replace("create_box 1", "create_box 2").replace("mass 1", "mass *")), "atom types 1 and 2 are both Si",
               "remove explore and cutout")


def test_types_without_an_element(model, message, tmp_path):
    shutil.copy(model, tmp_path)
    pair = "pair_style hybrid/overlay dptrain zero 6.0\npair_coeff * * dptrain si.dp Si NULL NULL\npair_coeff * * zero"
    reference = 'reference pair lj/cut 6.0 coeff "* * 0.05 2.1" end'
    three = text("mode active cutout 7", run="run 0", pair=pair, reference=reference)
    stops_with(message(three.replace("create_box 1", "create_box 3").replace("mass 1", "mass *")), "each type needs an element to train")


@pytest.mark.parametrize("ranks", [1, 2])
def test_what_the_reference_cannot_compute_ends_the_run(ranks, trained):
    reference = 'reference pair lj/cut/coul/long 6 coeff "* * 0.05 2.1" end'
    stops_with(trained(text(run="run 0", reference=reference, pair=MOVE + PAIR), ranks), "pair style lj/cut/coul/long", "requires atom attribute q")


def test_asynchronous_cut_outs_in_a_spool(trained, labeler, tmp_path):
    """The run goes on while `dptrain label` computes cut-outs: their labels come later, each with the weights of its own core."""
    pytest.importorskip("ase", reason="the calculator is one of ASE")
    labeler()
    options = OPTIONS.replace("limit 50", "limit 1e6") + "asynchronous 3 train_share 1"
    atoms = LARGE.replace("timestep 0.001", "timestep 0.0001")
    reference = "reference spool spool end"
    (tmp_path / "wait.sh").write_text("until "
        "[ $(ls spool/*/request.xyz | wc -l) -eq $(ls spool/*/answer.xyz | wc -l) ]; do sleep 0.1; done\n")
    for run in ("run 200", "run 100\nshell sh wait.sh\nrun 2"):  # what is open at the end of the first is taken up by the second
        result = trained(text(options, run, atoms, reference)).check()
        options = options.replace("save 1000", "resume large.dp save 1000")
    late = [row for row in events(result.output) if row["learned"] == "later"]
    frames = stored_frames(tmp_path / "large.dp.frames")
    assert late and len(frames) > 2
    for frame in frames:
        weight = frame["weight"]
        assert len(frame["coord"]) < 512 and 0 < np.count_nonzero(weight) < len(weight)


def test_partitions_share_cut_outs(trained, tmp_path):
    """Two partitions ask around their own worst atoms at the same steps, and both learn all of them."""
    text_of = text(OPTIONS.replace("accuracy 0.03", "accuracy 1e-07").replace("limit 50", "limit 1e6") + "share yes duplicate 0")
    words = text_of.replace("3000 87287", "3000 ${seed}")
    trained("variable seed world 87287 1234\n" + words, 2, ("-partition", "1", "1")).check()
    outputs = [(tmp_path / f"screen.{k}").read_text() for k in range(2)]
    frames = stored_frames(tmp_path / "large.dp.frames")
    rows = [events(output) for output in outputs]
    assert min(map(len, rows)) >= 4 and len(frames) > max(map(len, rows))
    assert all(len(frame["coord"]) < 512 for frame in frames)
