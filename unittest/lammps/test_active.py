"""`fix dptrain ... mode active`: decisions, energies, ensembles and what it says, on silicon that learns from nothing or goes on
with a model. Numbers of the log are compared as words, exact ones come from thermo output."""

import re
import time

import h5py
import numpy as np
import pytest

from active import decisions, events, stored_frames, summary
from silicon import ATOMS, learn

OPTIONS = "mode active every 5 warmup 3 train 20 optimizer adam accuracy 0.08 "
NEXT = "read_restart si.restart\ntimestep 0.001\n"
TRAINED = "pair_style dptrain\npair_coeff * * si.dp Si"


@pytest.fixture
def trained(silicon, learned_once, tmp_path):
    """The same, with a model si.dp that has learned on the way of 60 steps."""
    learned_once(learn(OPTIONS + "save 1000 si.dp", run="run 60"), tmp_path)
    return silicon


def forces_of(silicon, name, pair, coord, ranks=1):
    """Energy and forces of a pair style on positions [n][3]."""
    atoms = "\n".join(f"create_atoms 1 single {x:.17g} {y:.17g} {z:.17g} units box" for x, y, z in coord)
    text = ATOMS.replace("create_atoms 1 box", atoms).replace("velocity", "# velocity")
    result = silicon(f"{text}{pair}\ndump d all custom 1 {name} id fx fy fz\ndump_modify d sort id format float %.17g\nrun 0\n"
                     "print \"RESULT pe $(pe:%.17g)\"\n", ranks).check()
    return result.value("pe"), result.dump(name)[:, 1:]


SW = "pair_style sw\npair_coeff * * Si.sw Si"


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_decide_the_same(ranks, silicon):
    """Adam in double precision: all numbers of the first ten lines agree to 1e-9, but for the expected errors. These come from the
    inverse of the features' moments with a ridge of 1e-7, which makes 1e-7 of a rounding of 1e-14 at most (1e-9 as measured). Later
    lines agree less, because the training and the motion of the atoms amplify it further."""
    text = learn(OPTIONS + "holdout 2", run="run 60", thermo="thermo 5\n")
    one, many = silicon(text).check(), silicon(text, ranks).check()
    assert len(events(one.output)) >= 13
    assert decisions(many.output) == decisions(one.output)
    assert "held_out" in [e["learned"] for e in events(one.output)]
    a, b = one.thermo(), many.thermo()
    for name in ("PotEng", "f_t", "f_t[4]", "f_t[13]", "f_t[14]", "f_t[16]", "f_t[19]", "f_t[20]"):
        first_lines = 1e-7 if name == "f_t[13]" else 1e-9
        assert np.allclose(b[name][:10], a[name][:10], rtol=first_lines, atol=1e-12, equal_nan=True), name
        assert np.allclose(b[name], a[name], rtol=1e-6, atol=1e-9, equal_nan=True), name
    # a difference of sums, which is zero at what was just learned
    assert np.allclose(b["f_t[21]"][:10], a["f_t[21]"][:10], rtol=1e-9, atol=1e-10)


def test_a_given_model_is_trained_when_it_is_wrong(trained):
    """One label of a perfect crystal, whose forces are zero, would spoil it."""
    options = "mode active every 2 train 20 optimizer adam limit 100 repeat duplicate 0 save 1000 "
    at_rest = trained(learn(options + "first.dp accuracy 0.05 audit 1", pair=TRAINED, run="run 0")).check()
    assert "the model is trained from the first label on whose error is above the threshold" in at_rest.output
    assert at_rest.thermo()["f_t[1]"][-1] == 1 and at_rest.thermo()["f_t[7]"][-1] == 0
    assert events(at_rest.output)[0]["learned"] == "-"
    relative = trained(learn(options + "relative.dp audit 1", pair=TRAINED, run="run 0")).check()  # to forces that are zero
    assert relative.thermo()["f_t[1]"][-1] == 1 and relative.thermo()["f_t[7]"][-1] == 0
    right = trained(learn(options + "right.dp accuracy 5 audit 1", pair=TRAINED, run="run 20")).check()
    assert right.thermo()["f_t[1]"][-1] >= 1 and right.thermo()["f_t[7]"][-1] == 0
    later = trained(learn(options + "later.dp accuracy 5 audit 1 resume right.dp", pair=TRAINED, run="run 10")).check()
    assert later.thermo()["f_t[1]"][-1] > right.thermo()["f_t[1]"][-1] and later.thermo()["f_t[7]"][-1] == 0
    wrong = trained(learn(options + "wrong.dp accuracy 0.0001", pair=TRAINED, run="run 20")).check()
    frames = [float(e["frames"]) for e in events(wrong.output) if e["learned"] != "-"]
    assert frames and wrong.thermo()["f_t[7]"][-1] == 20 * wrong.thermo()["f_t[1]"][-1]  # those before, too


@pytest.mark.parametrize("ranks", [1, 2])
def test_errors_are_those_of_model_and_reference(ranks, trained, tmp_path):
    """A model that does not learn (train 0): the errors of an event are those of its forces on the stored positions."""
    result = trained(learn("mode active every 10 train 0 accuracy 0.005 limit 100 repeat audit 0 duplicate 0 save 1000 b.dp", pair=TRAINED, run="run 20",
                           thermo="thermo 10\n"), ranks).check()
    frames, thermo = stored_frames(tmp_path / "b.dp.frames"), result.thermo()
    assert [f["step"] for f in frames] == [0, 10, 20] == [int(e["step"]) for e in events(result.output)]
    for k, frame in enumerate(frames):
        energy, true = forces_of(trained, "sw.dump", SW, frame["coord"])
        _, model = forces_of(trained, "model.dump", TRAINED, frame["coord"], ranks)
        assert frame["energy"] == pytest.approx(energy, rel=1e-12)
        assert np.abs(frame["force"] - true).max() < 1e-10
        errors = np.sqrt(((model - true)**2).sum(axis=1))
        assert thermo["f_t[20]"][k] == pytest.approx(errors.max(), rel=1e-9)
        event = events(result.output)[k]
        assert float(event["true"]) == pytest.approx(errors.max(), rel=1e-3)
        assert float(event["rms"]) == pytest.approx(np.sqrt((errors**2).mean() / 3), rel=1e-3)


@pytest.mark.parametrize("ranks, optimizer", [(1, "adam"), (2, "adam"), (1, "soap ema 0.9 batch 2 buffer 6")])
def test_resume_goes_on_the_same(ranks, optimizer, silicon, tmp_path):
    """A new process with restart file and checkpoint: the same events, energies and parameters to the last bit."""
    options = OPTIONS.replace("adam", optimizer).replace("0.08", "0.03") + "holdout 2 audit 5 save 50 {0}.dp"
    whole = silicon(learn(options.format("whole"), run="run 53\nwrite_restart si.restart\nrun 50"), ranks).check()
    silicon(learn(options.format("part"), run="run 53\nwrite_restart si.restart"), ranks).check()
    fix = learn(options.format("part") + " resume part.dp", run="run 50").split("timestep 0.001\n")[1]
    second = silicon(NEXT + fix, ranks).check()
    expected = [e for e in events(whole.output) if int(e["step"]) > 53]
    assert len(expected) >= 5 and events(second.output) == expected
    a, b = whole.thermo(), second.thermo()
    for name in ("PotEng", "Press", "f_t", "f_t[1]", "f_t[2]", "f_t[4]", "f_t[7]", "f_t[13]", "f_t[14]", "f_t[16]", "f_t[17]", "f_t[19]"):
        assert repr(b[name][-1]) == repr(a[name][-1]), name
    assert (tmp_path / "part.dp.frames").read_bytes() == (tmp_path / "whole.dp.frames").read_bytes()
    energy = [silicon(f"{ATOMS}pair_style dptrain\npair_coeff * * {name}.dp.ckpt Si\nrun 0\nprint \"RESULT pe $(pe:%.17g)\"\n").check().value("pe")
              for name in ("whole", "part")]
    assert energy[0] == energy[1]


@pytest.mark.parametrize("follow", ["model", "reference"])
def test_two_runs_are_one(follow, silicon):
    """Also where the reference has moved the atoms at the step between them; `calls` counts that it is asked for forces again."""
    options = OPTIONS + f"follow {follow}"
    one = silicon(learn(options, run="run 60")).check()
    two = silicon(learn(options, run="run 30\nrun 30")).check()
    assert [d[:5] for d in decisions(two.output)] == [d[:5] for d in decisions(one.output)]
    for name in ("PotEng", "f_t[1]", "f_t[7]", "f_t[13]", "f_t[19]"):
        assert two.thermo()[name][-1] == pytest.approx(one.thermo()[name][-1], rel=1e-6), name


def test_thermo_at_asked_steps(trained):
    """With follow model: energy and pressure of the model as it is after its training, else those of the reference."""
    move = "displace_atoms all random 0.1 0.1 0.1 4711 units box\n"
    out = "\nprint \"RESULT pe $(pe:%.17g)\"\nprint \"RESULT press $(press:%.17g)\""
    dump = "dump d all custom 1 {} id fx fy fz\ndump_modify d sort id format float %.17g\n"
    def values(text, name, ranks=1):
        result = trained(text, ranks).check()
        return result.value("pe"), result.value("press"), result.dump(name)[:, 1:]
    for ranks in (1, 2):
        new = values(learn("mode active accuracy 0.01 limit 1e6 repeat train 5 save 1000 new.dp", pair=move + TRAINED + "\n" + dump.format("new.dump"),
                           run="run 0" + out), "new.dump", ranks)
        saved = values(ATOMS + move + TRAINED.replace("si.dp", "new.dp") + "\n" + dump.format("saved.dump") + "run 0" + out + "\n", "saved.dump")
        old = values(ATOMS + move + TRAINED + "\n" + dump.format("old.dump") + "run 0" + out + "\n", "old.dump")
        followed = values(learn("mode active accuracy 0.01 train 5 follow reference", pair=move + TRAINED + "\n" + dump.format("f.dump"),
                                run="run 0" + out), "f.dump", ranks)
        native = values(ATOMS + move + SW + "\n" + dump.format("sw.dump") + "run 0" + out + "\n", "sw.dump")
        for ours, theirs in ((new, saved), (followed, native)):
            assert ours[0] == pytest.approx(theirs[0], rel=1e-10) and ours[1] == pytest.approx(theirs[1], rel=1e-8)
            assert np.abs(ours[2] - theirs[2]).max() < 1e-8 * np.abs(theirs[2]).max()
        assert abs(new[0] - old[0]) > 1e-6


def test_energy_is_conserved_but_for_the_jumps(silicon):
    """NVE: the total energy less f_t[19]. What remains is the error of the forces times the path of half a step."""
    columns = "thermo_style custom step etotal f_t[19]"
    text = learn(OPTIONS.replace("0.001", "0.0002"), run="run 100", thermo=columns + "\nthermo_modify format float %.17g\nthermo 1\n")
    result = silicon(text.replace("timestep 0.001", "timestep 0.0002")).check()
    thermo = result.thermo()
    jumps, rest = thermo["f_t[19]"], thermo["TotEng"] - thermo["f_t[19]"]
    assert np.ptp(jumps) > 1.0 and "model" in [e["moved_by"] for e in events(result.output)]
    assert np.ptp(rest) < 0.05 * np.abs(np.diff(jumps)).sum()
    total = sum(float(e["jump"]) for e in events(result.output))
    assert total == pytest.approx(jumps[-1], abs=0.05)
    assert summary(result.output, "sum of all runs:") == pytest.approx(jumps[-1], rel=1e-5)


@pytest.mark.parametrize("name, integrate, atoms", [
    ("nvt", "fix n all nvt temp 600 1800 0.1", ATOMS),  # a ramp
    ("npt", "fix n all npt temp 1000 1000 0.1 aniso 0 5e4 0.2", ATOMS),
    ("nph", "fix n all nph iso 0 0 0.2", ATOMS),
    ("triclinic", "fix n all npt temp 1000 1000 0.1 tri 0 0 0.2", ATOMS.replace("block 0 2 0 2 0 2", "prism 0 2 0 2 0 2 0.9 0.3 -0.4"))])
def test_ensembles(name, integrate, atoms, silicon):
    """The same decisions on one and two ranks, and the reference is asked less and less."""
    text = learn(OPTIONS.replace("0.08", "0.15"), integrate=integrate, run="run 60\nrun 20").replace(ATOMS, atoms)
    one, two = silicon(text).check(), silicon(text, 2).check()
    assert decisions(two.output) == decisions(one.output) and len(events(one.output)) >= 6
    assert np.allclose(two.thermo()["PotEng"], one.thermo()["PotEng"], rtol=1e-6)
    assert one.thermo()["f_t[15]"][-1] == 1


def test_halt(silicon):
    """The expected error is there at every step; a halted run can go on."""
    halt = "variable e equal f_t[13]\nfix h all halt 1 v_e > 1.5 error continue\n"
    result = silicon(learn(OPTIONS + "limit 5 repeat", run="run 20\n" + halt + "run 100\nunfix h\nrun 10")).check()
    assert "halt" in result.output and result.output.count("reference calls") == 3


def test_minimize(trained, tmp_path):
    """Labels on the way are learned at the end: the energy falls from step to step, as that of the model of before does."""
    move = "displace_atoms all random 0.2 0.2 0.2 4711 units box\n"
    plain = trained(f"{ATOMS}{move}{TRAINED}\nthermo 1\nminimize 0 1e-6 15 50\n").check()
    fix = learn("mode active every 3 accuracy 0.01 train 10 save 1000 b.dp", pair=move + TRAINED, thermo="thermo 1\n",
                run="minimize 0 1e-6 15 50\nrun 5")
    active = trained(fix).check()
    a, b = plain.thermo()["PotEng"] if "PotEng" in plain.thermo() else plain.thermo()["E_pair"], active.thermo()
    n = len(a)
    assert np.allclose(b["PotEng"][:n], a, rtol=1e-6) and np.all(np.diff(b["PotEng"][:n]) <= 1e-9)
    frames = stored_frames(tmp_path / "b.dp.frames")
    assert len(frames) >= 3 and all(b["f_t[7]"][:n] == 0) and b["f_t[7]"][-1] == 10 * len(frames)
    assert "why" in active.output and active.output.count("reference calls") == 2


def test_overlay(silicon, tmp_path):
    """Beside another style the energy jumps and the model's errors are those of the model alone."""
    pair = "pair_style hybrid/overlay dptrain zbl 1.0 2.0\npair_coeff * * dptrain input.json Si\npair_coeff * * zbl 14 14"
    columns = "thermo_style custom step etotal f_t[19] f_t[15]\nthermo_modify format float %.17g\nthermo 1\n"
    text = learn(OPTIONS, pair=pair, run="run 60", thermo=columns).replace("timestep 0.001", "timestep 0.0002")
    thermo = silicon(text, 2).check().thermo()
    rest = thermo["TotEng"] - thermo["f_t[19]"]
    assert thermo["f_t[15]"].max() == 1 and np.ptp(thermo["f_t[19]"]) > 0.1
    assert np.ptp(rest) < 0.1 * np.abs(np.diff(thermo["f_t[19]"])).sum()


def test_units_real(silicon):
    """The same events as in metal units; a threshold in kcal/mol/Angstrom."""
    metal = silicon(learn(OPTIONS, run="run 30")).check()
    real = silicon(learn(OPTIONS.replace("0.08", repr(0.08 * 23.06054)), run="run 30").replace("units metal", "units real")
                   .replace("timestep 0.001", "timestep 1.0")).check()
    a, b = events(metal.output), events(real.output)
    assert [d[:5] for d in decisions(real.output)] == [d[:5] for d in decisions(metal.output)]
    for name in ("expected", "true", "rms"):
        for one, other in zip(a, b):
            assert one[name] == other[name] == "-" or float(other[name]) == pytest.approx(23.06054 * float(one[name]), rel=1e-2)


def test_two_fixes_are_refused(silicon):
    text = learn(OPTIONS, run="run 5").replace("fix n all", f"fix u all dptrain reference pair sw coeff \"* * Si.sw Si\" end {OPTIONS}\nfix n all")
    result = silicon(text)
    assert result.status != 0 and "trained by fix" in result.errors()[0]


def test_a_trained_model_asks_where_it_must(trained):
    """With the error bars of its file the model moves the atoms at once, and the reference is asked only above the threshold."""
    quiet = trained(learn("mode active every 5 train 5 accuracy 10 audit 0", pair=TRAINED, run="run 30")).check()
    assert events(quiet.output) == [] and np.all(quiet.thermo()["f_t[15]"] == 1)
    result = trained(learn("mode active every 5 train 5 accuracy 0.05 audit 0", pair=TRAINED, run="run 30")).check()
    assert events(result.output) and all(e["why"] in ("threshold", "limit") for e in events(result.output))


def test_a_model_without_bars_is_early(trained, tmp_path):
    """Such as those of DeePMD-kit: the reference drives until the first three errors are known, whatever the file has learned."""
    with h5py.File(tmp_path / "si.dp", "a") as file:
        del file["dptrain_bars"], file["dptrain_metric"]
    result = trained(learn("mode active every 5 train 5 accuracy 0.5 limit 20 repeat", pair=TRAINED, run="run 30")).check()
    assert [e["why"] for e in events(result.output)][:4] == ["early"] * 4
    assert [e["moved_by"] for e in events(result.output)][:4] == ["reference"] * 3 + ["model"]
    assert result.thermo()["f_t[15]"][-1] == 1


def test_limits(trained, tmp_path):
    """Above the limit the step is repeated with the reference, at any step, or the run ends with its checkpoint written."""
    result = trained(learn("mode active every 1000 train 5 accuracy 0.005 limit 0.1 repeat save 1000 b.dp", pair=TRAINED, run="run 5")).check()
    assert [e["why"] for e in events(result.output)] == ["limit"] * len(events(result.output)) and len(events(result.output)) >= 4
    stopped = trained(learn("mode active every 1000 train 5 accuracy 0.005 limit 0.1 stop save 1000 c.dp", pair=TRAINED, run="run 5"), 2)
    assert stopped.status != 0 and "above the limit" in stopped.errors()[0]


def test_the_threshold_follows_from_the_accuracy(silicon, tmp_path):
    """Ten times a part of the root mean square force of what was learned, or ten times a force."""
    options = "audit 0 holdout 0 duplicate 0 save 1000 si.dp"
    for accuracy, part in (("", 0.05), ("accuracy 20%", 0.2)):
        result = silicon(learn(OPTIONS.replace("accuracy 0.08", accuracy) + options, run="run 20", thermo="thermo 1\n")).check()
        frames = stored_frames(tmp_path / "si.dp.frames")
        assert 5 < len(frames) < 20  # more labels help, whatever the error is
        force = np.sqrt(np.mean(np.concatenate([frame["force"] for frame in frames])**2))
        assert result.thermo()["f_t[14]"][-1] == pytest.approx(10 * part * force, rel=1e-6)
        assert f"({100 * part:g} % of the forces), not measured, as no configuration is held out" in result.output
    given = silicon(learn(OPTIONS, run="run 20")).check()
    assert given.thermo()["f_t[14]"][-1] == pytest.approx(0.8, rel=1e-12)


def test_an_accuracy_out_of_reach_is_told(silicon, tmp_path):
    """Once, after twenty answers. Then the threshold is one and a half times the largest error bar that nine in ten of the learned
    configurations do not exceed: from the bars of the stored frames with the saved model, to the digits of the log."""
    words = OPTIONS.replace("accuracy 0.08", "accuracy 0.1% limit 1000 repeat audit 0 holdout 0 duplicate 0 save 1000 si.dp")
    result = silicon(learn(words.replace("every 5", "every 2"), run="run 60", thermo="thermo 1\n")).check()
    assert result.output.count("above two thirds of the accuracy of") == 1 and "more labels of the same kind do not help" in result.output
    frames, largest = stored_frames(tmp_path / "si.dp.frames"), []
    assert 20 <= len(frames) <= 32
    for frame in frames:
        atoms = "\n".join(f"create_atoms 1 single {x:.17g} {y:.17g} {z:.17g} units box" for x, y, z in frame["coord"])
        text = ATOMS.replace("create_atoms 1 box", atoms).replace("velocity", "# velocity") + TRAINED
        largest.append(silicon(text + "\ncompute u all dptrain/uncertainty/atom\ncompute most all reduce max c_u\n"
                               "thermo_style custom step pe c_most\nrun 0\nprint \"RESULT u $(c_most:%.17g)\"\n").check().value("u"))
    expected = 1.5 * sorted(largest)[int(0.9 * (len(largest) - 1))]
    assert result.thermo()["f_t[14]"][-1] == pytest.approx(expected, rel=1e-3)


def test_close_atoms_are_told(trained):
    """Once: two atoms are pushed to 1.5 Angstrom of each other."""
    text = learn("mode active every 5 train 1 accuracy 100000 limit 1e9 repeat audit 0", pair=TRAINED, run="run 5")
    assert "closer than in the frames from which" not in trained(text).check().output
    push = "group one id 1\ndisplace_atoms one move 0.49 0.49 0.49 units box\n"
    for ranks in (1, 2):
        output = trained(text.replace("pair_style", push + "pair_style"), ranks).check().output
        assert output.count("atoms are 1.5") == 1


def test_labels_that_are_not_used(trained, tmp_path):
    """Forces above fmax are compared but not learned from; a reference without numbers leaves the run to the model."""
    result = trained(learn("mode active every 5 train 5 accuracy 0.01 limit 100 repeat fmax 0.01 save 1000 b.dp", pair=TRAINED, run="run 10",
                           thermo="thermo 5\n")).check()
    assert "is above fmax 0.01" in result.output and result.thermo()["f_t[7]"][-1] <= 5
    overlap = 'reference pair table linear 1000 coeff "* * bad.table BAD 4.5" end'
    rows = "\n".join(f"{k + 1} {0.1 + 4.4 * k / 99} nan nan" for k in range(100))
    (tmp_path / "bad.table").write_text(f"BAD\nN 100 R 0.1 4.5\n\n{rows}\n")
    result = trained(learn("mode active every 5 train 5 accuracy 0.01 limit 100 repeat", pair=TRAINED, run="run 10", thermo="thermo 5\n",
                           reference=overlap), 2).check()
    assert "not finite" in result.output and result.thermo()["f_t[11]"][-1] >= 2
    assert np.all(result.thermo()["f_t[15]"] == 1) and np.all(result.thermo()["f_t[1]"] == 0)


def test_duplicates_are_not_stored(silicon, tmp_path):
    """The same way once more, from the same start: its configurations are known."""
    text = learn(OPTIONS.replace("0.08", "0.01 limit 1000 repeat ") + "save 1000 si.dp", run="run 60\nwrite_restart si.restart")
    silicon(text).check()
    fix = learn(OPTIONS.replace("0.08", "0.01 limit 1000 repeat ") + "resume si.dp", run="run 0").split("timestep 0.001\n")[1]
    result = silicon(NEXT + "reset_timestep 100\n" + fix).check()
    assert [e["learned"] for e in events(result.output)] == ["duplicate"]
    assert result.thermo()["f_t[21]"][-1] < 1e-4  # the square root of what rounded positions leave
    assert result.thermo()["f_t[1]"][-1] == len(stored_frames(tmp_path / "si.dp.frames"))


def test_distance_of_structures(trained):
    """Zero where the earlier run has learned, which began alike and labeled every third step; large far from all of that."""
    words = "mode active every 1000 audit 0 accuracy 100 limit 1e4 repeat"
    values = trained(learn(words + " resume si.dp", pair=TRAINED, run="run 40", thermo="thermo 1\n")).check().thermo()["f_t[21]"]
    assert values[0] < 1e-4 and values[3] < 0.1 * min(values[1], values[2], values[4])
    assert np.all(values[20:] > values[1])


def test_held_out_frames(silicon, tmp_path):
    """They are stored and marked, and the training does not see them: its error on them is reported."""
    result = silicon(learn(OPTIONS + "holdout 2 save 1000 si.dp", run="run 40")).check()
    frames = stored_frames(tmp_path / "si.dp.frames")
    held = [f for f in frames if f["held_out"]]
    assert held and result.thermo()["f_t[7]"][-1] == 20 * (len(frames) - len(held))
    errors = []
    for frame in held:
        _, model = forces_of(silicon, "model.dump", TRAINED, frame["coord"])
        errors.append(((model - frame["force"])**2).mean())
    assert result.thermo()["f_t[16]"][-1] == pytest.approx(np.sqrt(np.mean(errors)), rel=1e-9)


def test_one_of_holdout_audits_is_held_out(trained, tmp_path):
    """The others are learned, although they found nothing: one of four labels at any moment."""
    words = "mode active every 1000 audit 2 holdout 4 duplicate 0 accuracy 0.001 limit 1000 repeat train 5 save 1000 b.dp"
    result = trained(learn(words, pair=TRAINED, run="run 60")).check()
    fates = [e["learned"] == "held_out" for e in events(result.output)]
    assert [e["why"] for e in events(result.output)][1:] == ["audit"] * (len(fates) - 1) and len(fates) > 15
    assert fates == [k % 4 == 3 for k in range(len(fates))]
    assert result.thermo()["f_t[7]"][-1] == 5 * fates.count(False)


def test_rank_correlation_of_the_summary(silicon):
    """Of the latest fifty answers in the log, whose four digits change no order but of nearly equal numbers."""
    output = silicon(learn(OPTIONS + "audit 1 duplicate 0", run="run 100")).check().output
    rows = [(float(e["expected"]), float(e["true"])) for e in events(output) if e["expected"] != "-"][-50:]
    assert len(rows) == 50
    ranks = np.argsort(np.argsort(np.array(rows), axis=0), axis=0)
    assert summary(output, "rank correlation") == pytest.approx(np.corrcoef(ranks.T)[0, 1], abs=0.02)


def test_errors_before_learning_in_the_summary(silicon):
    """Root mean square of the latest ten, of three where there are no more; all to the digits of the log."""
    for run, count in (("run 100", "10 answers"), ("run 30", None)):
        output = silicon(learn(OPTIONS + "audit 1 duplicate 0", run=run)).check().output
        rows = [float(e["rms"]) for e in events(output) if e["rms"] != "-"][-10:]
        count = count or f"{len(rows)} answer" + "s" * (len(rows) > 1)
        error, number = re.search(r"on those it has learned, ([\d.e-]+) \([^)]*\) at the latest (\d+ answers?) before they were learned", output).groups()
        assert number == count and float(error) == pytest.approx(np.sqrt(np.mean(np.square(rows))), rel=2e-3)


def test_an_error_that_is_not_wanted_is_told(trained):
    """At the end of a run, once there are enough answers: labels are those of a quite other potential."""
    words = "mode active every 1 holdout 3 duplicate 0 limit 1e6 repeat audit 1 train 0 "
    for accuracy, count in (("", 1), ("accuracy 50%", 1), ("accuracy 100", 0)):
        text = learn(words + accuracy, pair=TRAINED, run="run 60", reference='reference pair lj/cut 5.0 coeff "* * 0.5 2.4" end')
        output = trained(text).check().output
        assert output.count("the potential does not have the accuracy that is wanted") == count
        line = r"accuracy: wanted [\d.e+]+ .*, reached [\d.e+]+ .* on 16 held-out configurations, [\d.e+]+ "
        assert re.search(line if count else "accuracy: nothing is learned yet", output)


def test_times_add_up(silicon):
    """Reference, training and MD are the time of the run, which is LAMMPS' loop time and the first step before it."""
    started = time.monotonic()
    result = silicon(learn(OPTIONS, run="run 40")).check()
    whole = time.monotonic() - started
    line = re.search(r"seconds: reference ([\d.]+) .* training ([\d.]+) .* MD ([\d.]+) .* all ([\d.]+)", result.output)
    reference, training, md, total = map(float, line.groups())
    loop = float(re.search(r"Loop time of (\S+)", result.output).group(1))
    assert reference + training + md == pytest.approx(total, abs=0.02)
    assert loop - 0.05 <= total <= whole
