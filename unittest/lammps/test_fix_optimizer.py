"""Which optimizer fix dptrain uses, what it keeps over a new process, and the average of the weights."""

import h5py
import numpy as np
import pytest

from silicon import ATOMS, learn, write_input


@pytest.fixture
def silicon(lammps, tmp_path):
    write_input(tmp_path)
    return lammps


def last_loss(silicon, options, **more):
    """After 20 optimizer steps on four labels."""
    thermo = silicon(learn(f"every 5 train 5 warmup 2 follow reference {options}", run="run 15", **more)).check().thermo()
    assert thermo["f_t[7]"][-1] == 20 and np.isfinite(thermo["f_t"][-1])
    return thermo["f_t"][-1]


def test_training_keywords(silicon):
    """Each keyword changes the training, and soap is the default."""
    plain = last_loss(silicon, "")
    assert last_loss(silicon, "optimizer soap") == plain
    others = [last_loss(silicon, options) for options in ("optimizer adamw", "optimizer adam", "batch 3", "buffer 2", "seed 5")]
    assert len({plain, *others}) == 6


def test_optimizer_of_the_input(silicon, tmp_path):
    """The input's optimizer counts, the keyword wins. Without a number there, soap starts with a learning rate of its own,
    and all have the precision of the model. AdamW of a file without weight_decay has none, as in DeePMD-kit."""
    loss = {name: last_loss(silicon, f"optimizer {name}") for name in ("soap", "adam", "adamw")}
    for section, expected, with_keyword in (({"type": "Adam"}, "adam", "adamw"), ({"type": "AdamW"}, "adam", "adam"),
                                            ({"type": "AdamW", "weight_decay": 1e-3}, "adamw", "adamw"),
                                            ({"adam_beta1": 0.9}, "adam", "adamw"), ({}, "soap", "adamw"),
                                            ({"type": "SOAP", "precision": "float64"}, "soap", "adamw")):
        write_input(tmp_path, optimizer=section)
        assert last_loss(silicon, "") == loss[expected], section
        assert last_loss(silicon, "optimizer adamw") == loss[with_keyword], section
    rates = {}
    schedule = {"type": "exp", "decay_rate": 1.0}  # constant
    for name in ("soap", "adam"):
        write_input(tmp_path, learning_rate=schedule)
        rates[name] = silicon(learn(f"every 1 warmup 1 train 1 optimizer {name}", run="run 1")).check().thermo()["f_t[6]"][-1]
    assert rates == {"soap": 0.01, "adam": 0.001}
    single = {"pair": "pair_style dptrain precision single\npair_coeff * * input.json Si"}
    for name in ("SOAP", "Adam"):
        found = []
        for section in ({"type": name, "precision": "float32"}, {"type": name, "precision": "float64"}, {"type": name}):
            write_input(tmp_path, optimizer=section)
            found.append(last_loss(silicon, "", **single))
        assert found[2] == found[0] != found[1], name


@pytest.mark.parametrize("before, after", [("", "adam"), ("adam", "soap"), ("adam", "adamw"), ("soap", "adamw")])
def test_resume_with_another_optimizer_is_refused(before, after, silicon):
    """Whether or not the states have the same size. No keyword: soap."""
    names = {"": "SOAP", "soap": "SOAP", "adam": "Adam", "adamw": "AdamW"}
    first = f"optimizer {before}" if before else ""
    silicon(learn(f"every 5 warmup 1 train 5 {first} save 1000 si.dp", run="run 0")).check()
    result = silicon(learn(f"every 5 optimizer {after} resume si.dp", run="run 0"), 2)
    assert result.status != 0
    assert f"si.dp.ckpt goes on with its optimizer {names[before]}, here {names[after]}" in result.errors()[0]


def learning_after_resume(silicon, options, first, second, **more):
    """Loss and learning rate at the end of a training that was interrupted."""
    silicon(learn(f"every 5 warmup 1 train 5 {options} {first} save 1000 si.dp", run="run 0")).check()
    thermo = silicon(learn(f"every 5 warmup 1 train 5 follow reference {options} {second} resume si.dp", run="run 0", **more)).check().thermo()
    return thermo["f_t"][-1], thermo["f_t[6]"][-1]


def test_resume_goes_on_with_the_settings_of_the_checkpoint(silicon, tmp_path):
    """Optimizer and average need not be named again; without an input file no setting must."""
    cosine = {"type": "cosine", "start_lr": 0.004, "stop_lr": 1e-4}
    write_input(tmp_path, learning_rate=cosine)
    named = learning_after_resume(silicon, "", "optimizer adamw ema 0.9", "optimizer adamw ema 0.9")
    with h5py.File(tmp_path / "si.dp.ckpt") as file:
        assert "average" in file["dptrain"]
    assert learning_after_resume(silicon, "", "optimizer adamw ema 0.9", "save 1000 si.dp") == named
    with h5py.File(tmp_path / "si.dp.ckpt") as file:
        assert "average" in file["dptrain"]
    learning_after_resume(silicon, "", "optimizer adamw ema 0.9", "ema 0 save 1000 si.dp")
    with h5py.File(tmp_path / "si.dp.ckpt") as file:
        assert "average" not in file["dptrain"]
    # the model of the checkpoint, no input file: rate, loss and length of the schedule are those of before
    pair = "pair_style dptrain\npair_coeff * * si.dp.ckpt Si"
    silicon(learn("every 5 warmup 1 train 5 optimizer adamw ema 0.9 save 1000 si.dp", run="run 0")).check()
    thermo = silicon(learn("every 5 warmup 1 train 5 follow reference resume si.dp.ckpt", pair=pair, run="run 0")).check().thermo()
    assert (thermo["f_t"][-1], thermo["f_t[6]"][-1]) == named
    assert named[1] < 0.004


@pytest.mark.parametrize("ranks", [1, 2])
def test_resume_with_soap_and_average(ranks, silicon, tmp_path):
    """Eigenvectors, raw weights and their average survive a new process bit by bit; a checkpoint amid the training of a
    label too (save 7). The energies are those of the average, in the run and in the files."""
    options = "every 5 warmup 2 train 5 batch 2 optimizer soap ema 0.9 save 7 si.dp"
    energy = "\nprint \"RESULT pe $(pe:%.17g)\""
    whole = silicon(learn(options, run="run 15\nrun 15"), ranks).check().thermo()
    first = silicon(learn(options, run="run 15\nwrite_restart si.restart\nrun 0" + energy), ranks).check()
    files = {name: silicon(f"read_restart si.restart\npair_style dptrain\npair_coeff * * {name} Si\nrun 0{energy}\n", ranks).check()
             for name in ("si.dp", "si.dp.ckpt")}
    for name, result in files.items():
        assert result.value("pe") == pytest.approx(first.value("pe"), rel=1e-12), name
        assert "differ from those in use" not in result.output, name
    fix = learn(options + " resume si.dp", run="run 15").split("timestep 0.001\n")[1]
    second = silicon("read_restart si.restart\ntimestep 0.001\n" + fix, ranks).check()
    assert "resumed from si.dp.ckpt: 4 frames, 20 optimizer steps" in second.output
    second = second.thermo()
    for name in ("f_t", "f_t[1]", "f_t[3]", "f_t[4]", "f_t[7]"):
        assert second[name][-1] == whole[name][-1], name
    assert second["PotEng"][-1] == pytest.approx(whole["PotEng"][-1], rel=1e-12)


def test_resume_with_average_counts_the_same_tables(silicon, tmp_path):
    """The knots are checked at every twentieth table, MD with the average builds one for each label: the checkpoints of an
    interrupted and of a whole training say the same about the table."""
    options = "every 5 warmup 2 train 5 optimizer adam ema 0.9 save 1000 {0}.dp"
    silicon(learn(options.format("whole"), run="run 13\nrun 12")).check()
    silicon(learn(options.format("part"), run="run 13\nwrite_restart si.restart")).check()
    fix = learn(options.format("part") + " resume part.dp", run="run 12").split("timestep 0.001\n")[1]
    silicon("read_restart si.restart\ntimestep 0.001\n" + fix).check()
    states = []
    for name in ("whole", "part"):
        with h5py.File(tmp_path / f"{name}.dp.ckpt") as file:
            found = []
            file.visititems(lambda path, item: found.append(item[()]) if path.endswith("auxiliary_state") else None)
        states.append(found)
    assert len(states[0]) == 1 and states[0][0].size == 5
    assert (states[0][0] == states[1][0]).all()


def test_the_average_moves_the_atoms_and_the_raw_weights_learn(silicon, tmp_path):
    """While the reference drives, frames and losses do not know of the average; what is shown and written is another model."""
    options = "every 5 warmup 1 train 5 follow reference save 1000 {0}.dp"
    run = "run 0\nrun 0\nprint \"RESULT pe $(pe:%.17g)\""
    plain = silicon(learn(options.format("plain"), run=run)).check()
    average = silicon(learn(options.format("average") + " ema 0.8", run=run)).check()
    for name in ("f_t", "f_t[4]", "f_t[7]"):
        assert list(average.thermo()[name]) == list(plain.thermo()[name]), name
    energy = {name: silicon(f"{ATOMS}pair_style dptrain\npair_coeff * * {name} Si\nrun 0\nprint \"RESULT pe $(pe:%.17g)\"\n").check().value("pe")
              for name in ("plain.dp", "average.dp", "average.dp.ckpt")}
    assert energy["average.dp"] == pytest.approx(energy["average.dp.ckpt"], rel=1e-13)
    assert abs(energy["average.dp"] - energy["plain.dp"]) > 1e-6 * abs(energy["plain.dp"])
    # raw weights are in the checkpoint: without the average the training goes on as the plain one does
    going_on = [silicon(learn(f"every 1 train 1 resume {name}.dp", run="run 1")).check().thermo()["f_t"][-1] for name in ("plain", "average")]
    assert going_on[0] == going_on[1]
