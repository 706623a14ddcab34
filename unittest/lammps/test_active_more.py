"""`fix dptrain ... mode active` where runs are not plain: ranks without atoms, minimizations, computes, keywords, several runs."""

import re

import h5py
import numpy as np
import pytest

from active import decisions, events, summary
from silicon import ATOMS, PAIR, learn, write_input
from test_active import NEXT, OPTIONS, TRAINED, trained  # noqa: F401


def test_a_rank_without_atoms(silicon):
    """A slab in a box that is empty above it: ranks without atoms take the same ways, in runs, selections and minimizations."""
    atoms = (ATOMS.replace("region box block 0 2 0 2 0 2", "region box block 0 2 0 2 0 8\nregion slab block 0 2 0 2 0 1.9")
             .replace("create_atoms 1 box", "create_atoms 1 region slab").replace("units metal", "units metal\nprocessors 1 1 *"))
    move = "run 30\nminimize 0 0 4 40"
    text = learn(OPTIONS + "holdout 4 save 1000 si.dp", run=move, thermo="thermo 5\n").replace(ATOMS, atoms)
    one, two = silicon(text).check(), silicon(text, 2).check()
    assert decisions(two.output) == decisions(one.output) and len(events(one.output)) > 5
    chosen = learn("mode active accuracy 0.03 dataset chosen", pair=TRAINED, run="run 10", reference="reference run")
    assert "selected, threshold" in silicon(chosen.replace(ATOMS, atoms), 2).check().output


def test_uncertainties_in_a_run_from_nothing(silicon, tmp_path):
    """compute and model_devi.out while there is no model yet: zero, and then those of the model that is learned."""
    pair = PAIR.replace("pair_style dptrain", "pair_style dptrain out_freq 10 out_file model_devi.out")
    compute = "compute u all dptrain/uncertainty/atom\ncompute most all reduce max c_u\nthermo_style custom step c_most f_t[13]\nthermo 5\n"
    for options in (OPTIONS, "every 5 warmup 3 train 20 optimizer adam "):
        (tmp_path / "model_devi.out").unlink(missing_ok=True)
        thermo = silicon(learn(options, pair=pair, run=compute + "run 60")).check().thermo()
        assert thermo["c_most"][0] == 0 and thermo["c_most"][-1] > 0
        assert np.loadtxt(tmp_path / "model_devi.out")[-1, 4] > 0


@pytest.mark.parametrize("ranks", [1, 2])
def test_energies_of_atoms_add_up_at_answers(ranks, silicon):
    """With those of the model that has just learned, where it moves the atoms."""
    compute = "compute e all pe/atom\ncompute sum all reduce sum c_e\nthermo_style custom step pe c_sum f_t[15]\nthermo 1\n"
    thermo = silicon(learn(OPTIONS + "follow model", run=compute + "run 40"), ranks).check().thermo()
    moves = thermo["f_t[15]"] == 1
    assert moves.sum() > 10
    assert np.allclose(thermo["c_sum"][moves], thermo["PotEng"][moves], rtol=1e-10)


def test_limits_in_a_minimization(trained, tmp_path):
    """As in a run: the limit stops it."""
    words = "mode active every 1000 accuracy 0.005 limit 0.1 stop save 1000 c.dp"
    result = trained(learn(words, pair=TRAINED, run="minimize 0 0 10 100"))
    assert result.status != 0 and "above the limit" in result.errors()[0]


def test_duplicates_of_a_minimization(trained, tmp_path):
    """Steps at the end of a minimization that hardly move the atoms are not stored again and again."""
    words = "mode active every 1 accuracy 1e-10 limit 1e6 repeat audit 1 holdout 0 duplicate 0.1 train 1 save 1000 c.dp"
    result = trained(learn(words, pair=TRAINED, run="minimize 0 0 30 300")).check()
    fates = [e["learned"] for e in events(result.output)]
    assert len(fates) > 10 and fates.count("duplicate") > len(fates) // 3


def test_keywords_that_do_not_go_together(message, tmp_path):
    write_input(tmp_path)
    for words, said in (("mode passive accuracy 0.03", "accuracy needs 'mode active'"),
                           ("mode active accuracy 0.05 limit 0.2 stop", "the limit 0.2 is below the error bar 0.5")):
        assert said in message(learn(words)).errors()[0]


def test_a_new_model_is_early(trained):
    """pair_coeff with an input file after a model that was calibrated: it is compared three times before it moves the atoms."""
    again = "run 10\n" + PAIR.split("\n")[1] + "\nrun 60"
    result = trained(learn(OPTIONS, pair=TRAINED, run=again)).check()
    second = result.output[result.output.rindex("new model"):]
    assert sum(e["why"] == "early" and e["true"] != "-" for e in events(second)) == 3


def test_summary_of_a_run_without_a_beginning(silicon):
    result = silicon(learn(OPTIONS, run="run 20\nrun 30 pre no")).check()
    assert re.findall(r"Fix dptrain t: (\d+) steps", result.output) == ["20", "30"]


def test_audits_above_fmax_count(trained):
    """They are not stored, but they tell of the model."""
    words = "mode active every 1000 audit 1 accuracy 10 limit 1000 repeat fmax 0.01 duplicate 0"
    result = trained(learn(words, pair=TRAINED, run="run 10")).check()
    assert result.thermo()["f_t[17]"][-1] == len(events(result.output)) > 5
    assert result.thermo()["f_t[1]"][-1] <= 1  # the crystal of the first step has no forces


def test_jumps_with_follow_reference_over_resume(silicon):
    """The sum of the energy jumps goes on where it was."""
    options = OPTIONS + "follow reference save 1000 {0}.dp"
    whole = silicon(learn(options.format("a"), run="run 53\nrun 20", thermo="thermo 1\n")).check().thermo()
    silicon(learn(options.format("b"), run="run 53\nwrite_restart si.restart")).check()
    fix = learn(options.format("b") + " resume b.dp", run="run 20", thermo="thermo 1\n").split("timestep 0.001\n")[1]
    rest = silicon(NEXT + fix.replace(PAIR, "pair_style dptrain\npair_coeff * * b.dp.ckpt Si")).check().thermo()
    assert rest["f_t[19]"][-1] == pytest.approx(whole["f_t[19]"][-1], rel=1e-9)


def test_expected_errors_go_on_from_a_given_model(silicon):
    """A model in pair_coeff, without its frames, learns on: what it expects stays of the size of what is found, though the features
    that its error bars rest on change with the parameters."""
    silicon(learn(OPTIONS + "save 1000 si.dp", run="run 100")).check()
    words = "mode active every 5 train 100 audit 5 duplicate 0 accuracy 0.01 limit 100 repeat"
    found = events(silicon(learn(words, pair=TRAINED, run="run 100")).check().output)
    ratios = [float(e["expected"]) / float(e["true"]) for e in found]
    assert len(ratios) > 8 and 0.2 < np.median(ratios[1:]) < 3 and max(ratios[1:]) < 15  # the first is of the crystal, without forces


def test_a_run_that_learns_nothing(trained, tmp_path):
    """It leaves the files of its name alone; under another name the model is written with all that it knows of itself."""
    words = "mode active every 5 accuracy 100 limit 1e4 repeat audit 0 save 1000 {0}.dp"
    before = [(tmp_path / name).read_bytes() for name in ("si.dp", "si.dp.ckpt")]
    trained(learn(words.format("si"), pair=TRAINED, run="run 10")).check()
    assert before == [(tmp_path / name).read_bytes() for name in ("si.dp", "si.dp.ckpt")]
    trained(learn(words.format("new"), pair=TRAINED, run="run 10")).check()
    trained(learn(words.format("newer"), pair=TRAINED.replace("si.dp", "new.dp"), run="run 10")).check()
    scale = [np.array(h5py.File(tmp_path / name)["dptrain_bars/bars/scale"]) for name in ("si.dp", "new.dp", "newer.dp")]
    assert scale[0].min() > 0 and np.array_equal(scale[0], scale[1]) and np.array_equal(scale[0], scale[2])
    labels = learn("mode active every 5 accuracy 100 audit 2 dataset labels", pair=TRAINED, run="run 10")
    assert "there is a data set labels already" not in trained(labels).check().output
    assert "there is a data set labels already" in trained(labels).check().output
