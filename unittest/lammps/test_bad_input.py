"""Wrong input: one clear message that names what was found and what is allowed, and all ranks stop."""

import re

import h5py
import pytest

from lammps_runner import REFERENCE
from silicon import ATOMS, MODEL, PAIR, REFERENCE as SW, learn, write_input

MODEL_FILE = f"{REFERENCE}/two_side/model.dp"
SYSTEM = f"""units metal
atom_modify map yes
read_data {REFERENCE}/two_side/liquid.data
"""
STYLE = "pair_style dptrain\n"


def stops_with(result, *texts):
    """The run failed, with exactly one ERROR line, which has all the texts."""
    assert result.status != 0, result.output[-2000:]
    errors = [line for line in result.errors() if "MPI_ABORT" not in line.upper()]
    assert len(errors) == 1, result.output[-2000:]
    for text in texts:
        assert text in errors[0], errors[0]


def make_bad_files(folder):
    (folder / "text.dp").write_text("not a model\n")
    (folder / "truncated.dp").write_bytes(open(MODEL_FILE, "rb").read()[:3000])
    with h5py.File(folder / "other.h5", "w") as file:
        file["numbers"] = [1, 2, 3]
    with h5py.File(MODEL_FILE) as source, h5py.File(folder / "descriptor.dp", "w") as target:
        for name in source:
            source.copy(name, target)
        for name, value in source.attrs.items():
            if isinstance(value, str):
                value = value.replace('"se_e2_a"', '"dpa2"')
            target.attrs[name] = value


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("file, texts", [
    ("missing.dp", ["missing.dp", "LAMMPS_POTENTIALS"]),
    ("text.dp", ["text.dp", "HDF5"]),
    ("truncated.dp", ["truncated.dp"]),
    ("other.h5", ["other.h5"]),
    ("descriptor.dp", ["descriptor.dp", "dpa2", "se_e2_a"])])
def test_model_files(file, texts, ranks, lammps, tmp_path):
    make_bad_files(tmp_path)
    stops_with(lammps(f"{SYSTEM}{STYLE}pair_coeff * * {file} O H\n", ranks), "Pair style dptrain", *texts)


COEFF = f"pair_coeff * * {MODEL_FILE} "


@pytest.mark.parametrize("text, texts", [
    (STYLE + COEFF + "O Xe\n", ["element Xe is not in the model", "O H"]),
    (STYLE + COEFF + "O\n", ["one element per atom type: 2 types, found 1: O"]),
    (STYLE + COEFF + "O H H\n", ["2 types, found 3: O H H"]),
    (STYLE + "pair_coeff * *\n", ["Illegal pair_coeff * * FILE El1 El2 ... command: missing argument(s)"]),
    (STYLE + f"pair_coeff 1 2 {MODEL_FILE} O H\n", ["must start with * *"]),
    (STYLE + COEFF + "NULL NULL\n", ["all elements of pair_coeff are NULL"]),
    ("pair_style dptrain model.dp\n", ["give the model in pair_coeff", "pair_coeff * * model.dp El1 El2"]),
    ("pair_style dptrain knot 5\n", ["Unknown pair style dptrain keyword knot", "precision, knots, chunk"]),
    ("pair_style dptrain chunk\n", ["Illegal pair_style dptrain chunk command: missing argument(s)"]),
    ("pair_style dptrain chunk 0\n", ["chunk 0 is not possible"]),
    ("pair_style dptrain chunk x\n", ["Pair style dptrain: chunk x is not possible"]),
    ("pair_style dptrain knots 2\n", ["knots 2 is not possible", "auto"]),
    ("pair_style dptrain knots many\n", ["Pair style dptrain: knots many is not possible", "auto"]),
    ("pair_style dptrain knots 99999999999\n", ["knots 99999999999 is not possible", "to 262144"]),
    ("pair_style dptrain precision half\n", ["precision 'half'", "double"]),
    ("pair_style dptrain/kk\n", ["Pair style dptrain/kk needs a LAMMPS with the KOKKOS package", "use the plain style"]),
    ("fix t all dptrain/kk reference run\n", ["Fix dptrain/kk needs a LAMMPS with the KOKKOS package"]),
    ("compute u all dptrain/uncertainty/atom/kk\n", ["Compute dptrain/uncertainty/atom/kk needs", "tools/build-in-tree"]),
    (STYLE + COEFF + "O H\nfix p all pair 1 dptrain deviation 0\nrun 0\n", ["no deviation to extract", "committee"]),
    (STYLE + COEFF + "O H\nfix p all pair 1 dptrain uncertainty 0\nrun 0\n", ["the model", "model.dp has no error bars"])])
def test_pair_commands(text, texts, message):
    stops_with(message(SYSTEM + text, 2), *texts)


@pytest.mark.parametrize("text, texts", [
    (SYSTEM.replace("units metal", "units lj") + STYLE + COEFF + "O H\nrun 0\n", ["units lj", "metal"]),
    ("newton off\n" + SYSTEM + STYLE + COEFF + "O H\nfix t all dptrain reference pair zero 4.0 coeff \"* *\" end\nrun 0\n", ["Fix dptrain needs newton on"]),
    (SYSTEM + STYLE + COEFF + "O H\nrun_style respa 2 2\nrun 0\n", ["respa", "verlet"]),
    (SYSTEM + STYLE + COEFF + "NULL H\nrun 0\n", ["All pair coeffs are not set"])])
def test_settings_that_cannot_work(text, texts, message):
    stops_with(message(text), *texts)


@pytest.mark.parametrize("ranks", [1, 4])
def test_overlapping_atoms(ranks, lammps):
    """Found by the ranks that see the pair, while the others go on: still one message."""
    text = SYSTEM + STYLE + COEFF + "O H\nset atom 1 x 0 y 0 z 0\nset atom 2 x 0 y 0 z 0\nrun 0\n"
    stops_with(lammps(text, ranks), "Pair style dptrain: two atoms are at the same place")


def test_new_model_without_a_fix(message, tmp_path):
    write_input(tmp_path)
    stops_with(message(f"{ATOMS}{PAIR}\nrun 0\n", 2), "input.json describes a new model", "fix dptrain")


@pytest.mark.parametrize("words, texts", [
    ("new Xx", ["a new model is made of chemical elements such as O, H or Si, and Xx is none"]),
    ("new si", ["a new model is made of chemical elements such as O, H or Si, and si is none"]),
    ("new NULL", ["at least one element that is not NULL"]),
    ("new", ["one element per atom type: 1 types, found 0"]),
    ("new Si O", ["one element per atom type: 1 types, found 2: Si O"]),
    ("new Si\nrun 0", ["a new model, which is not trained yet", "fix dptrain"])])
def test_new_models_without_a_file(words, texts, message):
    stops_with(message(f"{ATOMS}{STYLE}pair_coeff * * {words}\n", 2), "Pair style dptrain", *texts)


FIX = f"{ATOMS}{PAIR}\nfix t all dptrain "


@pytest.mark.parametrize("text, texts", [
    (SW + " speed 3", ["Fix dptrain: unknown keyword speed (did you mean seed?): allowed are reference baseline"]),
    (SW + " every", ["Illegal fix dptrain every N command: missing argument(s)"]),
    (SW + " every ten", ["Fix dptrain: every ten is not possible: use a whole number not below 1"]),
    (SW + " every 0", ["Fix dptrain: every 0 is not possible: use a whole number not below 1"]),
    (SW + " every 5 train 3 every 7", ["every is given twice, as 5 and as 7: remove one of them"]),
    (SW + " memory yes memory no", ["memory is given twice: remove one of them"]),
    (SW + " save every 5", ["save every is not possible: use a whole number not below 0, in 'save N FILE'"]),
    (SW + " mode active cutout core 3", ["cutout core is not possible: use a positive distance, or none"]),
    (SW + " train 5 freeze every 5", ["train STEPS [only PATTERN] [freeze PATTERN] [rate PATTERN FACTOR]: found the keyword every in place of PATTERN"]),
    (SW + " prepare 4 displace 0.1 displace 0.2", ["prepare ... displace is given twice, as 0.1 and as 0.2"]),
    (SW + " every 2.5", ["every 2.5 is not possible"]),
    (SW + " every 99999999999999999999", ["every 99999999999999999999 is not possible"]),
    (SW + " train 3000000000", ["train 3000000000 is not possible"]),
    (SW + " ema nan", ["ema nan is not possible"]),
    (SW + " compress powersgd 0", ["compress ... powersgd 0 is not possible: use none, bf16 or powersgd RANK"]),
    (SW + " compress zip", ["compress zip is not possible: use none, bf16 or powersgd RANK"]),
    (SW + " compress bf16 compress powersgd 2", ["compress ... powersgd is given twice, as bf16 and as 2"]),
    (SW + " save 10", ["Illegal fix dptrain save N FILE command: missing argument(s)"]),
    (SW + " accuracy 5 %", ["there is a blank before %: write number and % as one word, as in 'accuracy 5%'"]),
    (SW + " accuracy 1e-9%", ["accuracy 1e-09% is below what precision double can reach: use 1e-08% or more"]),
    (SW + " mode lazy", ["mode lazy is not possible: use passive or active"]),
    (SW + " optimizer sgd", ["optimizer sgd is not possible: use soap, adam or adamw"]),
    (SW + " ema 1.0", ["ema 1.0 is not possible: use a number from 0 to below 1"]),
    (SW + " ema x", ["ema x is not possible"]),
    (SW + " ema", ["Illegal fix dptrain ema DECAY command", "missing argument(s)"]),
    (SW + " precision single", ["without 'model FILE", "pair_style dptrain precision"]),
    (SW + " knots 300", ["without 'model FILE", "pair_style dptrain knots"]),
    (SW + " model input.json Si precision half", ["Fix dptrain: precision 'half'", "double, single or mixed"]),
    (SW + " model input.json Si precision", ["Illegal fix dptrain precision double|single|mixed command: missing argument(s)"]),
    (SW + " model input.json Si knots 2", ["Fix dptrain: knots 2 is not possible", "auto"]),
    ("every 5", ["needs a reference"]),
    ("reference magic", ["reference magic is not possible: use reference pair|run|values|socket"]),
    ("reference socket localhost:0", ["Illegal fix dptrain reference socket ... timeout|wait|retries|failed|virial|end command", "missing argument(s)"]),
    ("reference socket localhost end", ["the address 'localhost' is none: use HOST:PORT"]),
    ("reference socket localhost:0 every 5", ["unknown option of 'reference socket ... end' every: allowed are timeout wait retries failed virial end"]),
    ("reference socket localhost:0 timeout -1 end", ["reference socket ... timeout -1 is not possible: use reference socket ... timeout SECONDS, 0 for no limit"]),
    ("reference socket localhost:0 retries some end", ["reference socket ... retries some is not possible: use reference socket ... retries N from 0"]),
    ("reference socket localhost:0 failed maybe end", ["reference socket ... failed maybe is not possible: use reference socket ... failed skip|stop"]),
    ("reference socket localhost:0 tmeout 5 end", ["unknown option of 'reference socket ... end' tmeout (did you mean timeout?)"]),
    ("reference socket localhost:0 timeout 5 wait 1 timeout 6 end", ["reference socket ... timeout is given twice: remove one"]),
    ("reference pair coul/long 4.0 coeff \"* *\" kspace \"pppm 1e-4\" kspace \"ewald 1e-4\" end", ["reference pair ... kspace is given twice"]),
    ("reference pair nosuch coeff \"* *\" end", ["nosuch"]),
    ("reference pair sw end", ["reference pair sw has no coefficients"]),
    ("reference pair sw coeff \"* * Si.sw Si\"", ["Illegal fix dptrain reference", "missing argument(s)"]),
    ("reference pair sw coeff \"* * Si.sw Si\" every 5", ["unknown option of 'reference pair ... end' every: allowed are coeff modify kspace kspace_modify end"]),
    ("reference pair sw coeff \"1 1 Si.sw Si\" end", ["must start with * *"]),
    ("reference pair sw coeff \"* * no.sw Si\" end", ["no.sw"]),
    ("reference pair hybrid/scaled 1.0 sw coeff \"* * sw Si.sw Si\" end", ["hybrid/scaled", "reference run"]),
    ("reference pair hybrid/overlay coeff \"* * sw Si.sw Si\" end", ["reference pair hybrid/overlay needs its sub-styles"]),
    ("reference pair hybrid none sw coeff \"* * sw Si.sw Si\" end", ["cannot have none as a sub-style"]),
    ("reference pair hybrid sw zbl 1.0 2.0 coeff \"* * sw Si.sw Si\" end", ["reference pair hybrid: zbl has no coefficients"]),
    ("reference pair hybrid sw coeff \"* * Si.sw Si\" end", ["must name a sub-style: one of 'sw'"]),
    ("reference pair hybrid sw coeff \"* *\" end", ["with the name of a sub-style"]),
    ("reference pair hybrid/overlay zbl 1.0 2.0 zbl 2.0 3.0 coeff \"* * zbl 3 14 14\" end", ["one of 'zbl 1' 'zbl 2'"]),
    ("reference pair hybrid lj/cut 4.0 coeff \"2 2 lj/cut 0.1 2.0\" end", ["Numeric index 2 is out of bounds"]),
    ("reference pair hybrid sw coeff \"* * sw Si.sw Si\" modify \"pair sw special lj 0 0 0\" end", ["'special' is not available"]),
    ("reference pair hybrid sw coeff \"1 1 sw Si.sw Si\" end", ["sw takes one coeff, and it must start with * *"]),
    ("reference pair lj/cut/coul/long 4.0 coeff \"* * 0.1 2.0\" end", ["lj/cut/coul/long needs a kspace style: add kspace"]),
    ("reference pair sw coeff \"* * Si.sw Si\" kspace \"pppm 1e-4\" end", ["kspace \"pppm 1e-4\" has no use"]),
    ("reference pair coul/long 4.0 coeff \"* *\" kspace \"nosuch 1e-4\" end", ["nosuch"]),
    ("reference pair coul/long 4.0 coeff \"* *\" kspace \"none\" end", ["needs the arguments of a kspace_style command"]),
    ("reference pair sw coeff \"* * Si.sw Si\" kspace_modify \"order 4\" end", ["kspace_modify needs kspace"]),
    ("reference pair hybrid/overlay coul/long 4.0 lj/cut/coul/long 3.0 coeff \"* * coul/long\" coeff \"* * lj/cut/coul/long 0.1 2.0\" "
     "kspace \"pppm 1e-4\" end", ["the Coulomb cutoffs of its long-range styles must be the same"]),
    ("reference pair coul/msm 4.0 coeff \"* *\" kspace \"msm 1e-3\" end", ["must compute the whole virial"]),
    ("reference values energy c_thermo_pe end", ["labels need an energy and forces"]),
    ("reference values energy c_thermo_pe forces c_a c_b end", ["labels need an energy and forces"]),
    ("reference values energy c_thermo_pe forces c_a", ["Illegal fix dptrain reference", "missing argument(s)"]),
    ("reference values energy thermo_pe forces c_a end", ["energy thermo_pe: use the name of a value, c_ID"]),
    ("reference values energy c_a[0] forces c_a end", ["energy c_a[0]: use the name of a value"]),
    ("reference values energy c_a[1 forces c_a end", ["energy c_a[1: use the name of a value"]),
    ("reference values energy v_a[1] forces c_a end", ["energy v_a[1]: use the name of a value"]),
    ("reference values stress c_a energy c_thermo_pe forces c_b end", ["unknown option of 'reference values ... end' stress: allowed are energy forces virial pressure end"]),
    ("reference values energy c_thermo_pe forces c_b virial c_v pressure c_p end", ["virial and pressure are two forms of one value"]),
    ("reference values energy c_thermo_pe energy c_pe forces c_b end", ["reference values ... energy is given twice"]),
    ("reference values energy c_nosuch forces c_a end", ["there is none with the ID nosuch"]),
    ("reference values energy f_nosuch forces c_a end", ["there is none with the ID nosuch"]),
    ("reference values energy v_nosuch forces c_a end", ["there is none with the name nosuch"]),
    ("reference values energy c_thermo_pe[1] forces c_a end", ["energy c_thermo_pe[1]: needed is one number"]),
    ("reference values energy c_thermo_pe forces c_thermo_pe end", ["forces c_thermo_pe: needed is an array with three columns"]),
    ("reference values energy c_thermo_pe forces c_thermo_pe c_thermo_pe c_thermo_pe end", ["needed is a number for each atom"]),
    (SW + " baseline zbl 1.0 2.0 coeff \"* * 14 14\" end", ["baseline zbl is not possible: use baseline pair"]),
    (SW + " baseline pair zbl 1.0 2.0 end", ["baseline pair zbl has no coefficients"]),
    (SW + " baseline pair zbl 1.0 2.0 coeff \"* * 14 14\"", ["Illegal fix dptrain baseline", "missing argument(s)"]),
    ("reference run", ["train the model on itself"]),
    (SW + " fmax -1", ["fmax -1 is not possible: use a positive force, or none"]),
    (SW + " fmax x", ["fmax x is not possible"]),
    (SW + " model input.json every 5", ["one element for each of the 1 atom types", "found the keyword every in place of element 1"]),
    (SW + " resume none.dp", ["there is no checkpoint none.dp"]),
    (SW + " resume text.dp", ["text.dp is not a checkpoint"]),
    (SW + " input missing.json", ["missing.json"]),
    (SW + " save 1 missing/si.dp warmup 1 every 1", ["save missing/si.dp", "there is no folder missing"]),
    (SW + " disp 10 missing/curve.out", ["disp missing/curve.out", "there is no folder missing"]),
    (SW + " stat missing/stat.json", ["stat missing/stat.json", "there is no folder missing"]),
    (SW + " dataset in.test warmup 1 every 1", ["in.test"]),
    (SW + " train 0 warmup 1 every 1\nrun 2\nminimize 0 0 10 10", ["is not trained yet"]),
    (SW + " train 0 warmup 1 every 1\nrun 2\nunfix t", ["is not trained yet"]),
    ("reference pair lj/cut 4.0 coeff \"* * 0.1 2.0\" modify \"tale yes\" end", ["tale"]),
    (SW + "\nfix u all dptrain " + SW, ["Fix dptrain u: the model of", "trained by fix t already: use one fix per model"])])
def test_fix_commands(text, texts, message, tmp_path):
    write_input(tmp_path)
    (tmp_path / "text.dp").write_text("text\n")
    stops_with(message(f"{FIX}{text}\nrun 1\n", 2), *texts)


def test_group_must_be_all(message, tmp_path):
    write_input(tmp_path)
    stops_with(message(f"{ATOMS}{PAIR}\ngroup some id 1\nfix t some dptrain {SW}\n"), "group must be all", "some")


def test_pair_style_without_a_model(message, tmp_path):
    write_input(tmp_path)
    other = "pair_style sw\npair_coeff * * Si.sw Si\n"
    stops_with(message(f"{ATOMS}{other}fix t all dptrain {SW}\nrun 0\n"), "pair style sw has no model to train")
    stops_with(message(f"{ATOMS}{other}fix t all dptrain reference run model input.json Ge\nrun 0\n"), "element Ge is not in the model")


def test_pair_style_replaced_under_the_fix(message, tmp_path):
    write_input(tmp_path)
    for pair in (PAIR, "pair_style sw\npair_coeff * * Si.sw Si"):
        stops_with(message(f"{ATOMS}{PAIR}\nfix t all dptrain mode passive {SW} warmup 100\nrun 1\n{pair}\nrun 1\n"), "is gone or was given again")


def test_minimization_of_an_untrained_model(message, tmp_path):
    write_input(tmp_path)
    stops_with(message(f"{FIX}{SW}\nminimize 0 0 10 10\n"), "is not trained yet", "run dynamics")


def test_label_that_is_not_finite(message, tmp_path):
    """Two atoms at one place: the reference has no forces there."""
    write_input(tmp_path)
    text = f"{ATOMS}{PAIR}\nset atom 2 x 0 y 0 z 0\nfix t all dptrain mode passive reference pair lj/cut 4.0 coeff \"* * 0.1 2.0\" end\nrun 0\n"
    stops_with(message(text, 2), "not finite")


def test_statistics_of_other_frames_are_used(lammps, tmp_path):
    """The file gives every run the same numbers, on any ranks; the log says so where the frames are others."""
    text = learn("every 1 warmup 2 train 1 stat stat.json", run="run 2")
    smaller = ATOMS.replace("create_atoms 1 box", "create_atoms 1 box\ngroup one id 1\ndelete_atoms group one")
    write_input(tmp_path)
    first = lammps(text).check()
    written = (tmp_path / "stat.json").stat().st_mtime_ns
    same, other, fewer = (lammps(t, ranks).check() for t, ranks in
                          ((text, 2), (text.replace("87287", "87288"), 1), (text.replace(ATOMS, smaller), 2)))
    assert (tmp_path / "stat.json").stat().st_mtime_ns == written
    line = re.search(r"new model from 2 frames: sel .*", first.output).group(0)
    assert all(line in run.output for run in (same, other, fewer))
    assert "other frames" not in first.output + same.output
    assert "the statistics in stat.json are those of other frames (Si 64, 2 frames with hash" in other.output
    assert "than the present ones (Si 63, 2 frames" in fewer.output


def test_statistics_of_other_exclusions(lammps, tmp_path):
    text = learn("every 1 warmup 2 train 1 stat stat.json", run="run 2")
    write_input(tmp_path)
    lammps(text).check()
    write_input(tmp_path, model={"exclude_types": [[0, 0]]})
    stops_with(lammps(text), "stat.json", "excluded pairs of types: none", "excluded pairs of types: 0-0")


def test_checkpoint_of_another_model(lammps, tmp_path):
    write_input(tmp_path)
    lammps(learn("every 1 warmup 1 train 1 save 10 si.dp", run="run 1")).check()
    write_input(tmp_path, model={"rcut": 4.0, "axis_neuron": 3})
    stops_with(lammps(learn("every 1 save 10 new.dp resume si.dp", run="run 1"), 2),
               "another model", "rcut is 4.5 there and 4 here", "axis_neuron is 4 there and 3 here")
    assert MODEL["descriptor"]["rcut"] == 4.5
    write_input(tmp_path, model={"exclude_types": [[0, 0]], "env_protection": 0.1, "precision": "float32"})
    stops_with(lammps(learn("every 1 save 10 new.dp resume si.dp", run="run 1")), "exclude_types is none there and 0-0 here",
               "env_protection is 0 there and 0.1 here", "descriptor precision is float64 there and float32 here")


@pytest.mark.parametrize("lost", ["si.dp", "si.dp.ckpt"])
def test_failed_save_keeps_what_was_there(lost, lammps, tmp_path):
    """Whichever file cannot be written: what the others held before is complete, old or new."""
    write_input(tmp_path)
    lammps(learn("every 1 warmup 1 train 1 save 10 si.dp", run="run 1")).check()
    frames = (tmp_path / "si.dp.frames").read_bytes()
    model, checkpoint = ((tmp_path / name).read_bytes() for name in ("si.dp", "si.dp.ckpt"))
    (tmp_path / lost).unlink()
    (tmp_path / lost).mkdir()  # the name cannot be replaced by a file, not even by root
    stops_with(lammps(learn("every 1 warmup 1 train 1 save 1 si.dp", run="run 1"), 2), lost)
    assert (tmp_path / lost).is_dir()
    assert (tmp_path / "si.dp.frames.old").read_bytes() == frames
    if lost == "si.dp.ckpt":  # the checkpoint is written first: the model beside it is still that of before
        assert (tmp_path / "si.dp").read_bytes() == model
    else:
        with h5py.File(tmp_path / "si.dp.ckpt") as file:
            assert len(file)
        assert (tmp_path / "si.dp.ckpt").read_bytes() != checkpoint
        assert (tmp_path / "si.dp.ckpt.old").read_bytes() == checkpoint
    assert not [p for p in tmp_path.iterdir() if "tmp" in p.name]


def test_lost_atoms_stop_the_run(lammps, tmp_path):
    write_input(tmp_path)
    text = learn("every 5 warmup 100", run="run 50").replace("units metal", "units metal\nboundary f f f")
    result = lammps(text.replace("velocity all create 2000", "velocity all create 500000"), 2)
    assert result.status != 0 and "Lost atoms" in result.output


def test_lost_atoms_are_no_label(lammps, tmp_path):
    """Also where LAMMPS does not mind."""
    write_input(tmp_path)
    text = learn("model input.json Si every 5 warmup 100 dataset lost", run="run 100", reference="reference run",
                 pair="pair_style sw\npair_coeff * * Si.sw Si\nneigh_modify every 1 delay 0 check yes", thermo="thermo 1000\n")
    text = text.replace("units metal", "units metal\nboundary f f f").replace("velocity all create 2000", "velocity all create 900000")
    stops_with(lammps(text.replace("thermo 1000", "thermo_modify lost ignore\nthermo 1000"), 2), "Lost atoms: 64 expected")
    assert len(list((tmp_path / "lost").iterdir())) == 1


def test_scaled_forces_cannot_be_replaced(message, tmp_path):
    write_input(tmp_path)
    pair = "pair_style hybrid/scaled 0.5 dptrain 1.0 zero 4.0\npair_coeff * * dptrain input.json Si\npair_coeff * * zero"
    stops_with(message(learn("every 5", pair=pair, run="run 0"), 2), "pair style hybrid/scaled", "hybrid/overlay")


@pytest.mark.parametrize("first, second, texts", [
    ("save 10 a.dp disp 1 a.out", "save 10 ./a.dp disp 1 b.out", ["save of fix a and save of fix b", "a.dp"]),
    ("", "save 10 b.dp", ["disp of fix a and disp of fix b", "lcurve.out"])])
def test_two_fixes_into_one_file(first, second, texts, message, tmp_path):
    write_input(tmp_path)
    fixes = "".join(f"fix {name} all dptrain model input.json Si reference run every 5 {options}\n"
                    for name, options in (("a", first), ("b", second)))
    stops_with(message(f"{ATOMS}pair_style sw\npair_coeff * * Si.sw Si\n{fixes}run 1\n", 2), *texts)


def test_position_that_is_not_a_number(message):
    """The pair style says so, where LAMMPS itself does not look."""
    text = SYSTEM + STYLE + COEFF + "O H\nneigh_modify delay 1000 check no\nfix n all nve\nvelocity all set 1e308 NULL NULL\ntimestep 1e10\nrun 5\n"
    stops_with(message(text), "Pair style dptrain", "is not a finite number", "(atom id ")
