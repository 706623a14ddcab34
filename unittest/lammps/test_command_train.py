"""The command `dptrain train`: trainings from data sets, what they write, how they start, stop and go on."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from lammps_runner import REFERENCE, console_variables, wait_for

TRAIN_A = REFERENCE / "train_a"


def model_section(path):
    """The `model` section that a model was made with."""
    with h5py.File(path) as file:
        return json.loads(file.attrs["json"])["model_def_script"]


def settings(case=TRAIN_A, **training):
    """The model of a case and its training on the frames there, all of them in each batch."""
    numbers = json.loads((case / "expected.json").read_text())
    loss = {f"{when}_pref_{term}": numbers[f"pref_{term}"] for when in ("start", "limit") for term in "efv"}
    return {
        "model": model_section(case / "model.dp"),
        "learning_rate": {"type": "exp", "start_lr": 1e-3, "stop_lr": 1e-3, "decay_rate": 1.0},
        "loss": loss,
        "training": {"training_data": {"systems": [str(case / "system")], "batch_size": numbers["nframes"]},
                     "numb_steps": 20, "seed": 3, "disp_freq": 5, "save_freq": 10, **training},
    }


def training(lammps, folder):
    """Function: settings, options of the command, ranks -> Result."""

    def run(document, options="", ranks=1, **environment):
        (folder / "input.json").write_text(json.dumps(document))
        return lammps(f"dptrain train input.json {options}\n", ranks, **environment)

    return run


@pytest.fixture
def train(lammps, tmp_path):
    return training(lammps, tmp_path)


@pytest.fixture
def refused(message, tmp_path):
    """The same for settings and options that end with a message."""
    return training(message, tmp_path)


def parameters(path):
    """All weights of a checkpoint in float64, in the order of the file."""
    with h5py.File(path) as file:
        return file["dptrain/parameters"][()]


def rows(folder, name="lcurve.out"):
    return np.loadtxt(folder / name, ndmin=2)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("case", sorted(p.name for p in REFERENCE.glob("train_*")))
def test_parameters_after_20_steps_are_deepmds(case, ranks, train, tmp_path):
    """Start from the same model, all frames in each batch, constant learning rate: DeePMD-kit's parameters after 1 and 20
    steps (tolerances of the case: 1e-10 and 1e-9, both absolute; the noise of DeePMD-kit itself is 1e-14)."""
    folder = REFERENCE / case
    train(settings(folder, save_freq=1, max_ckpt_keep=0), f"--init-model {folder}/model.dp", ranks).check()
    for step, tolerance in ((1, 1e-10), (20, 1e-9)):
        found = parameters(tmp_path / f"model.ckpt-{step}.dp")
        assert np.abs(found - np.load(folder / f"params_{step}.npy")).max() < tolerance


@pytest.mark.parametrize("part", ["descriptor", "fitting_net"])
def test_the_input_says_which_parts_are_trained(part, train, tmp_path):
    """The file that the training starts from has trained both parts."""
    document = settings(numb_steps=3, save_freq=3)
    document["model"][part]["trainable"] = False
    train(document, f"--init-model {TRAIN_A}/model.dp").check()
    changed = parameters(tmp_path / "model.ckpt-3.dp") != np.load(TRAIN_A / "params_0.npy")
    index = json.loads((TRAIN_A / "params_index.json").read_text())
    of_part = np.concatenate([np.full(entry["size"], ("descriptor" in entry["path"]) == (part == "descriptor")) for entry in index])
    assert not changed[of_part].any() and changed[~of_part].any()


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("optimizer", [{"type": "Adam"}, {"type": "SOAP"}])
def test_a_restarted_training_is_the_same_to_the_last_bit(ranks, optimizer, train, tmp_path):
    document = settings(numb_steps=30, max_ckpt_keep=0, enable_ema=True, acc_freq=2)
    document["optimizer"] = optimizer
    document["learning_rate"] = {"type": "exp", "start_lr": 1e-3, "stop_lr": 1e-6, "decay_steps": 7}
    document["training"]["training_data"]["batch_size"] = 1
    train(document, ranks=ranks).check()
    whole, curve = parameters(tmp_path / "model.ckpt-30.dp"), rows(tmp_path)
    (tmp_path / "model.ckpt-30.dp").unlink()
    train(document, "--restart model.ckpt-10", ranks).check()
    assert np.array_equal(parameters(tmp_path / "model.ckpt-30.dp"), whole)
    again = rows(tmp_path)
    assert np.array_equal(again[len(curve):], curve[curve[:, 0] > 10])


def test_what_a_training_writes(train, tmp_path):
    document = settings(numb_steps=40, save_freq=10, max_ckpt_keep=2, save_dir="saved")
    document["training"]["validation_data"] = {"systems": [str(TRAIN_A / "system")], "batch_size": 1, "numb_btch": 2}
    output = train(document).check().output
    assert "training data: 1 systems, 2 frames" in output and "validation data: 1 systems" in output
    assert "steps/s" in output and "MiB per rank" in output
    # the last two of four checkpoints, the link to the newest, and the file that names it
    assert sorted(p.name for p in (tmp_path / "saved").iterdir()) == ["model.ckpt-30.dp", "model.ckpt-40.dp", "model.ckpt.dp"]
    assert (tmp_path / "saved" / "model.ckpt.dp").resolve().name == "model.ckpt-40.dp"
    assert (tmp_path / "checkpoint").read_text().split() == ["saved/model.ckpt-40.dp"]
    assert rows(tmp_path)[:, 0].tolist() == [1, 5, 10, 15, 20, 25, 30, 35, 40]
    header = (tmp_path / "lcurve.out").read_text().splitlines()[0].split()
    assert header == "# step rmse_val rmse_trn rmse_e_val rmse_e_trn rmse_f_val rmse_f_trn rmse_v_val rmse_v_trn lr".split()
    # the input with all defaults trains the same model
    resolved = json.loads((tmp_path / "out.json").read_text())
    assert resolved["training"]["numb_steps"] == 40 and resolved["learning_rate"]["warmup_steps"] == 0


def test_checkpoints_before_a_restart_count_among_those_kept(train, tmp_path):
    document = settings(numb_steps=20, save_freq=10, max_ckpt_keep=2, time_training=False)
    assert "steps/s" not in train(document).check().output
    document["training"]["numb_steps"] = 40
    assert "earlier training" not in train(document, "--restart model.ckpt").check().output
    assert sorted(p.name for p in tmp_path.glob("model.ckpt-*")) == ["model.ckpt-30.dp", "model.ckpt-40.dp"]
    assert "WARNING: model.ckpt-40.dp is that of an earlier training" in train(document).check().output


def test_the_resolved_input_gives_the_same_training(train, tmp_path):
    train(settings(numb_steps=5)).check()
    first = parameters(tmp_path / "model.ckpt-5.dp")
    train(json.loads((tmp_path / "out.json").read_text())).check()
    assert np.array_equal(parameters(tmp_path / "model.ckpt-5.dp"), first)


def test_convert_keeps_the_model_alone(train, tmp_path, lammps, message):
    train(settings(numb_steps=3)).check()
    lammps("dptrain convert model.ckpt model.dp\n").check()
    assert np.array_equal(bias(tmp_path / "model.dp"), bias(tmp_path / "model.ckpt.dp"))
    with h5py.File(tmp_path / "model.dp") as file:
        assert "dptrain" not in file
    (error,) = message("dptrain convert model.ckpt model.yaml\n", 2).errors()
    assert "only .dp, .pth and .txt (NEP) files of models" in error
    (error,) = message("dptrain convert model.ckpt model.pth\n", 2).errors()
    assert "does not come from a TorchScript archive" in error
    (error,) = message("dptrain convert model.ckpt model.ckpt-3.dp\n", 2).errors()
    assert "a checkpoint is there" in error


def test_epochs_and_defaults(train, tmp_path):
    document = settings(num_epoch=4)
    del document["training"]["numb_steps"]
    document["training"]["training_data"]["batch_size"] = 1
    assert "finished after step 8 " in train(document).check().output


def bias(path):
    with h5py.File(path) as file:
        tree = json.loads(file.attrs["json"])
        return file[tree["model"]["@variables"]["out_bias"]][()].ravel()


def test_finetune_shifts_the_energies_to_those_of_the_data(train, tmp_path):
    """Labels shifted by 1 eV per O and 2 eV per H: with one composition only the shift of a frame (64 + 256 eV) is
    known, and the change of the bias is the one of least norm, along the composition."""
    system = tmp_path / "shifted"
    subprocess.run(["cp", "-r", str(TRAIN_A / "system"), str(system)], check=True)
    types = np.loadtxt(system / "type.raw", dtype=int)
    counts = np.bincount(types, minlength=2)
    energy = np.load(system / "set.000/energy.npy")
    np.save(system / "set.000/energy.npy", energy + counts @ [1.0, 2.0])
    document = settings(numb_steps=1)
    document["learning_rate"] = {"type": "exp", "start_lr": 1e-30, "stop_lr": 1e-30}
    train(document, f"--finetune {TRAIN_A}/model.dp").check()
    unshifted = bias(tmp_path / "model.ckpt-1.dp") - bias(TRAIN_A / "model.dp")
    document["training"]["training_data"]["systems"] = [str(system)]
    output = train(document, f"--finetune {TRAIN_A}/model.dp").check().output
    change = bias(tmp_path / "model.ckpt-1.dp") - bias(TRAIN_A / "model.dp") - unshifted
    assert np.allclose(change, counts * (counts @ [1.0, 2.0]) / (counts @ counts), rtol=1e-9)
    assert "energy bias fitted to 2 frames" in output


def test_given_energies_of_isolated_atoms_stay(train, tmp_path):
    """atom_ener: -100 eV for O, the rest of the frame energies is that of the H atoms."""
    document = settings(numb_steps=1)
    document["model"]["fitting_net"]["atom_ener"] = [-100.0, None]
    document["learning_rate"] = {"type": "exp", "start_lr": 1e-30, "stop_lr": 1e-30}
    train(document).check()
    with h5py.File(tmp_path / "model.ckpt-1.dp") as file:
        tree = json.loads(file.attrs["json"])
        total = bias(tmp_path / "model.ckpt-1.dp") + file[tree["model"]["fitting"]["@variables"]["bias_atom_e"]][()].ravel()
    energy = np.load(TRAIN_A / "system/set.000/energy.npy").mean()
    assert np.allclose(total, [-100.0, (energy + 100.0 * 64) / 128], rtol=1e-12)


def test_change_bias_after_training(train, tmp_path):
    """The mean energy error over the data is 0 afterwards: one composition, so least squares takes it away."""
    document = settings(change_bias_after_training=True, disp_freq=1)
    train(document).check()
    lammps_error = rows(tmp_path)[-1]
    assert lammps_error[0] == 20
    with_bias = bias(tmp_path / "model.ckpt-20.dp")
    document["training"]["change_bias_after_training"] = False
    train(document).check()
    assert np.abs(with_bias - bias(tmp_path / "model.ckpt-20.dp")).max() > 1e-6


def test_a_dry_run_trains_and_writes_nothing(train, tmp_path):
    output = train(settings(numb_steps=1000), "--dry-run").check().output
    assert "dry run: nothing was trained. 1000 steps of" in output and "MiB" in output
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.test", "input.json"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_finetune_leaves_out_frames_with_close_atoms(ranks, train, tmp_path):
    """The smallest distances of the two frames are 0.910 and 0.892 Angstrom."""
    document = settings(numb_steps=2)
    document["training"]["training_data"].update(batch_size=1, min_pair_dist=0.9)
    output = train(document, f"--finetune {TRAIN_A}/model.dp", ranks).check().output
    assert "energy bias fitted to 1 frames" in output


def test_prefix_of_the_sets_of_the_validation_data(train, tmp_path):
    system = tmp_path / "parts"
    subprocess.run(["cp", "-r", str(TRAIN_A / "system"), str(system)], check=True)
    (system / "set.000").rename(system / "part.000")
    document = settings(numb_steps=1)
    document["training"]["validation_data"] = {"systems": [str(system)], "set_prefix": "part"}
    train(document).check()


def test_means_between_two_rows_go_on(train, tmp_path):
    """disp_avg: a restart between two rows of the learning curve does not forget the steps before it."""
    document = settings(numb_steps=10, disp_freq=10, save_freq=5, disp_avg=True)
    train(document).check()
    curve = rows(tmp_path)
    train(document, "--restart model.ckpt-5").check()
    assert np.array_equal(rows(tmp_path)[-1], curve[-1])


def test_a_restart_in_another_precision(train, tmp_path):
    """The table of single precision has a spacing that is too wide for double precision by a factor of 4."""

    def spacing(step):
        with h5py.File(tmp_path / f"model.ckpt-{step}.dp") as file:
            return file["dptrain/state/auxiliary_state"][1]

    train(settings(numb_steps=1), "--precision single").check()
    assert "the precision is another one than before" in train(settings(numb_steps=2), "--restart model.ckpt-1").check().output
    restarted = spacing(2)
    train(settings(numb_steps=2)).check()
    assert 0.5 < restarted / spacing(2) < 1.1


def test_a_model_that_keeps_too_few_neighbors_is_named(train):
    document = settings(numb_steps=1)
    document["model"]["descriptor"]["sel"] = [8, 8]
    assert train(document).check().output.count("WARNING: atoms have") == 2  # one for each element
    again = train(document, "--init-model model.ckpt-1.dp", 2).check().output
    assert again.count("WARNING: atoms have more neighbors") == 1


def test_the_model_section_of_a_pretrained_model(train, refused, tmp_path):
    """--use-pretrain-script: what the input says about the model does not count."""
    document = settings()
    document["model"] = {"type_map": ["H"], "descriptor": {}, "fitting_net": {}}
    train(document, f"--init-model {TRAIN_A}/model.dp --use-pretrain-script").check()
    assert np.abs(parameters(tmp_path / "model.ckpt-20.dp") - np.load(TRAIN_A / "params_20.npy")).max() < 1e-9
    refused(document, "--use-pretrain-script", 2).errors()[0].index("--init-model")


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_interrupt_saves_a_checkpoint(ranks, tmp_path):
    """Ctrl-C, as the console script passes it on."""
    document = settings(numb_steps=10**6, save_freq=10**6, disp_freq=10)
    (tmp_path / "input.json").write_text(json.dumps(document))
    process = subprocess.Popen([sys.executable, "-m", "dptrain", "train", "input.json", "-np", str(ranks)], cwd=tmp_path, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=console_variables())
    curve = tmp_path / "lcurve.out"
    wait_for(lambda: curve.exists() and len(curve.read_text().splitlines()) > 3, "learning curve")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 130, output
    assert "interrupted by a signal after step" in output and "--restart model.ckpt.dp" in output
    assert Path(tmp_path / "model.ckpt.dp").exists()


@pytest.mark.parametrize("ranks", [1, 2])
def test_checkpoints_of_the_command_and_of_the_fix_are_told_apart(ranks, train, lammps, tmp_path):
    """Each goes on with its own; the parameters of the other's are taken by its --init-model or `pair_coeff`."""
    train(settings(), ranks=ranks).check()
    dynamics = ("units metal\natom_modify map yes\nlattice sc 3.0\nregion box block 0 6 0 6 0 6\ncreate_box 2 box\n"
                "create_atoms 1 box\nset group all type/fraction 2 0.6 4711\nmass * 10.0\npair_style dptrain\n"
                "pair_coeff * * model.ckpt.dp O H\nfix t all dptrain mode passive reference pair lj/cut 3.0 coeff '* * 0.001 2.5' end ")
    refused = lammps(dynamics + "resume model.ckpt-20.dp\nrun 0\n", ranks)
    assert refused.status != 0 and len(refused.errors()) == 1
    assert "written by another program" in refused.errors()[0]
    lammps(dynamics + "every 1 warmup 1 train 1 save 1 fix.dp\nrun 1\n", ranks).check()
    refused = train(settings(), "--restart fix.dp.ckpt", ranks)
    assert refused.status != 0 and len(refused.errors()) == 1
    assert "not a checkpoint of dptrain train" in refused.errors()[0]
    train(settings(numb_steps=1), "--init-model fix.dp", ranks).check()


def test_a_large_data_set_does_not_stay_in_memory(train, tmp_path):
    """Without any frame memory the frames are read again and again: the result is the same."""
    document = settings(numb_steps=10)
    document["training"]["training_data"]["batch_size"] = 1
    train(document).check()
    first = parameters(tmp_path / "model.ckpt-10.dp")
    train(document, "--frame-memory 0").check()
    assert np.array_equal(parameters(tmp_path / "model.ckpt-10.dp"), first)


@pytest.mark.parametrize("options, change, words", [
    ("--restart nowhere", {}, ["there is no file nowhere and no nowhere.dp"]),
    (f"--restart {TRAIN_A}/model.dp", {}, ["not a checkpoint"]),
    ("--init-model nowhere", {}, ["cannot open file 'nowhere', which must be in the current folder"]),
    (f"--init-model {TRAIN_A}/model.dp", {"rcut": 5.0}, ["another model", "rcut is 6 there and 5 here", "--use-pretrain-script"]),
    (f"--init-model {TRAIN_A}/model.dp --finetune x", {}, ["--help"]),
    ("--precision half", {}, ["--precision", "half"]),
    ("--frame-memory -1", {}, ["--frame-memory"]),
    ("--no-such-option", {}, ["--no-such-option"]),
    ("--skip-neighbor-stat", {"sel": "auto"}, ["sel"]),
])
def test_bad_requests_end_in_one_clear_message(options, change, words, refused):
    document = settings()
    document["model"]["descriptor"].update(change)
    result = refused(document, options, 2)
    assert result.status != 0 and len(result.errors()) == 1, result.output
    for word in words:
        assert word in result.errors()[0]


@pytest.mark.parametrize("name, words", [("force", "no forces"), ("energy", "no energies")])
@pytest.mark.parametrize("ranks", [1, 2])
def test_missing_labels_are_named(name, words, ranks, train, tmp_path):
    """Of all systems, and of one of two; nothing is said where the loss has no such term."""
    shutil.copytree(TRAIN_A / "system", tmp_path / "part")
    (tmp_path / "part" / "set.000" / f"{name}.npy").unlink()
    document = settings(numb_steps=1)
    training = document["training"]["training_data"]
    training["batch_size"] = 1
    training["systems"] = ["part"]
    output = train(document, ranks=ranks).check().output
    assert output.count(f"WARNING: training data: the data have {words}, which the loss asks for") == 1, output
    training["systems"] = ["part", str(TRAIN_A / "system")]
    output = train(document, ranks=ranks).check().output
    frames = len(np.load(tmp_path / "part" / "set.000" / "box.npy"))
    all_frames = frames + sum(len(np.load(path)) for path in (TRAIN_A / "system").glob("set.*/box.npy"))
    missing = f"{frames} of {all_frames} frames have {words} (the first of them is frame 0 of part/set.000/coord.npy)"
    assert output.count(f"WARNING: training data: {missing}") == 1, output
    for when in ("limit", "start"):  # one of the two switches the term off, as in DeePMD-kit
        document["loss"][f"{when}_pref_{name[0]}"] = 0
        assert words not in train(document, ranks=ranks).check().output


def alloys(labels, outlier=None):
    """Extended XYZ: frames of Ni and Al with labels by these functions of the frame's number."""
    rng, text = np.random.default_rng(5), ""
    for k in range(24):
        names = ["Al" if i < k % 8 else "Ni" for i in range(8)]
        positions = 2.45 * np.array(list(np.ndindex(2, 2, 2))) + rng.uniform(-0.1, 0.1, (8, 3))
        columns, energy = labels(k)
        value = 5e4 if k == outlier else -4.0 * 8 + 0.5 * (k % 8) + 0.01 * k
        text += f'8\nLattice="4.9 0 0 0 4.9 0 0 0 4.9" Properties=species:S:1:pos:R:3:{columns}:R:3 {energy}={value} virial="1 0 0 0 1 0 0 0 1"\n'
        for name, position in zip(names, positions):
            text += f"{name} " + " ".join(f"{x:.6f}" for x in (*position, *rng.uniform(-1, 1, 3))) + "\n"
    return text


def train_alloys(train, tmp_path, text, ranks=1):
    (tmp_path / "a.xyz").write_text(text)
    document = {"model": {"type_map": ["Ni", "Al"], "descriptor": {"type": "power_spectrum", "rcut": 4.0, "seed": 1},
                          "fitting_net": {"neuron": [8, 8], "seed": 1}},
                "training": {"training_data": {"systems": "a.xyz", "batch_size": "mixed:8"}, "numb_steps": 1, "seed": 1, "held_out": 0.0}}
    return train(document, ranks=ranks).check().output


@pytest.mark.parametrize("where, first", [(range(18, 24), 18), (range(2), 0)])
def test_labels_under_another_name_are_named(where, first, train, tmp_path):
    """Counted over all frames: behind the first one, and in the first one."""
    output = train_alloys(train, tmp_path, alloys(lambda k: ("vasp_forces", "vasp_energy") if k in where else ("forces", "energy")))
    for kind, name in (("energies", "the key vasp_energy: name it energy"), ("forces", "the columns vasp_forces: name them forces")):
        assert f"WARNING: training data: {len(where)} of 24 frames have no {kind} (the first of them is frame {first} of a.xyz, line " \
            f"{10 * first + 1})" in output and name in output, output


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_frame_with_a_wrong_energy_is_named(ranks, train, tmp_path):
    text = alloys(lambda k: ("forces", "energy"), outlier=9)
    output = train_alloys(train, tmp_path, text, ranks)
    assert "WARNING: training data: frame 9 of a.xyz, line 91 has an energy of 50000 eV, " in output, output
    assert output.count("this frame moves the energies of atoms (energy bias) from Ni -") == 1, output
    output = train_alloys(train, tmp_path, alloys(lambda k: ("forces", "energy")), ranks)
    assert "energies of atoms" not in output and "eV per atom" not in output, output


def test_the_output_does_not_replace_the_input(refused, tmp_path):
    """Neither input.json nor the model that the training starts from, whatever they are called."""
    shutil.copy(TRAIN_A / "model.dp", tmp_path / "start.dp")
    for name in ("./input.json", "start.dp"):
        (error,) = refused(settings(), f"--init-model start -o {name}").errors()
        assert f"--output {name} is a file that this training reads" in error
    assert json.loads((tmp_path / "input.json").read_text()) == settings()


def test_data_that_do_not_fit_the_model_are_named(refused):
    document = settings()
    document["model"]["type_map"] = ["O", "C"]
    (error,) = refused(document).errors()
    assert "H" in error and "O C" in error
    document = settings()
    document["training"]["training_data"]["systems"] = ["nowhere"]
    (error,) = refused(document).errors()
    assert "input.json: training/training_data: data set" in error and "nowhere" in error
