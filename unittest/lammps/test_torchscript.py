"""TorchScript potentials (.pth) in `pair_style dptrain` and `fix dptrain`, with toy archives of the program write_script_toy
of the build (folder DPTRAIN_BUILD, or build/). Archives of DeePMD-kit itself: unittest/interop.
"""

import os
import re
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
RANKS = [1, 2, 4]
WAYS = ["local", "messages"]
# read from a file: create_atoms gives other ids on other numbers of ranks
ATOMS = """units metal
atom_style atomic
atom_modify map yes
read_data atoms.data
velocity all create 300 87287 loop geom
timestep 0.001
"""
LJ = 'reference pair lj/cut 4.0 coeff "* * 0.1 2.6" end'
COLUMNS = "thermo_style custom step pe etotal press f_t f_t[*]\nthermo_modify format float %.17g\n"
REPORT = """compute e all pe/atom
compute c all centroid/stress/atom NULL virial
dump report all custom 1 {name}.dump id fx fy fz c_e c_c[*]
dump_modify report sort id format float %.17g
run 0
print "RESULT pe $(pe:%.17g)"
print "RESULT pxx $(pxx:%.17g)"
print "RESULT pyz $(pyz:%.17g)"
"""


def write_atoms(folder, cells=3):
    """atoms.data: a crystal of two elements with displaced atoms."""
    random = np.random.default_rng(4)
    basis = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]]) + 0.1
    corners = np.stack(np.meshgrid(*3 * [np.arange(cells)], indexing="ij"), -1).reshape(-1, 1, 3)
    x = 4.1 * (corners + basis).reshape(-1, 3) + random.uniform(-0.15, 0.15, (4 * cells**3, 3))
    box = "".join(f"0 {4.1 * cells} {c}lo {c}hi\n" for c in "xyz")
    rows = "".join(f"{i + 1} {2 if i % 4 == 1 else 1} {a!r} {b!r} {c!r}\n" for i, (a, b, c) in enumerate(x.tolist()))
    (folder / "atoms.data").write_text(f"# toy\n\n{len(x)} atoms\n2 atom types\n{box}\nMasses\n\n1 30\n2 30\n\nAtoms\n\n{rows}")


@pytest.fixture
def toy(tmp_path):
    """Function: variant -> path of an archive in the folder of the test, which has atoms.data."""
    program = Path(os.environ.get("DPTRAIN_BUILD", ROOT / "build")) / "unittest/lib/write_script_toy"
    if not program.exists():
        pytest.skip(f"{program} is not built: set DPTRAIN_BUILD")
    write_atoms(tmp_path)

    def make(variant="local"):
        path = tmp_path / f"{variant}.pth"
        subprocess.run([program, path, variant], check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        return path
    return make


def pair(path, words=""):
    return f"pair_style dptrain {words}\npair_coeff * * {path} A B\n"


def learn(path, options, run="run 20", words="", thermo="thermo 5\n"):
    """Input that trains the archive while it moves the atoms."""
    if "mode " not in options:
        options = "mode passive " + options
    return f"{ATOMS}{pair(path, words)}fix t all dptrain {LJ} {options}\nfix n all nve\n{COLUMNS}{thermo}{run}\n"


def tensors(path):
    """Bytes of the tensors in an archive, by name: in the order in which write_script_toy has put them."""
    names = ["pair", "message", "w1", "b1", "wf", "w2", "mu", "out_bias"]
    with zipfile.ZipFile(path) as archive:
        found = {re.sub(".*/data/", "", name): archive.read(name) for name in archive.namelist() if re.search(r"/data/\d+$", name)}
    assert [len(found[str(k)]) for k in range(8)] == [160, 128, 160, 64, 32, 64, 40, 16]
    return {name: found[str(k)] for k, name in enumerate(names)}


def changed(before, after):
    """Names of the tensors that are not the same bits in both files."""
    a, b = tensors(before), tensors(after)
    return {name for name in a if a[name] != b[name]}


def force_error(lammps, path):
    """Root mean square difference of the forces from those of the reference, in the first configuration."""
    lammps(ATOMS + pair(path) + REPORT.format(name="model")).check()
    both = lammps(ATOMS + "pair_style lj/cut 4.0\npair_coeff * * 0.1 2.6\n" + REPORT.format(name="lj")).check()
    model, reference = (both.dump(name)[:, 1:4] for name in ("model.dump", "lj.dump"))
    return np.sqrt(np.mean((model - reference)**2))


@pytest.mark.parametrize("way", WAYS)
def test_ranks_agree(way, lammps, toy):
    """All that a run can ask of a potential. Sums in another order: 1e-10 of the largest number."""
    text = ATOMS + pair(toy(way)) + REPORT.format(name="report")
    one = lammps(text).check()
    table = one.dump("report.dump")
    assert "runs through LibTorch" in one.output and ("messages" in one.output) == (way == "messages")
    assert np.abs(table[:, 1:4]).max() > 0.1 and np.abs(table[:, 1:4].sum(0)).max() < 1e-11
    assert table[:, 4].sum() == pytest.approx(one.value("pe"), rel=1e-12)
    for ranks in RANKS[1:]:
        many = lammps(text, ranks).check()
        for name in ("pe", "pxx", "pyz"):
            assert many.value(name) == pytest.approx(one.value(name), rel=1e-10), name
        other = many.dump("report.dump")
        for columns in (slice(1, 4), slice(4, 5), slice(5, 14)):
            assert np.abs(other[:, columns] - table[:, columns]).max() < 1e-10 * np.abs(table[:, columns]).max(), columns


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_forces_and_virial_against_finite_differences(way, ranks, lammps, toy, tmp_path):
    """fix numdiff strains and displaces by 1e-4: central differences err by about 1e-7 of the forces. The sums of the
    virials of atoms are the virial. Where rank 0 evaluates the whole frame, a strain of the positions alone, without the
    box, is none: there the virial is that of one rank by test_ranks_agree."""
    path = toy(way)
    write_atoms(tmp_path, 2)
    text = ATOMS + pair(path) + """fix f all numdiff 1 1e-4
fix v all numdiff/virial 1 1e-4
compute p all pressure NULL virial
compute c all centroid/stress/atom NULL virial
compute sum all reduce sum c_c[*]
dump d all custom 1 numdiff.dump id fx fy fz f_f[1] f_f[2] f_f[3]
dump_modify d format float %.17g
thermo_style custom step vol c_p[*] f_v[*] c_sum[*]
thermo_modify format float %.17g
run 0
"""
    result = lammps(text, ranks).check()
    table = result.dump("numdiff.dump")
    assert np.abs(table[:, 1:4] - table[:, 4:7]).max() < 2e-6 * np.abs(table[:, 1:4]).max()
    thermo = result.thermo()
    pressure = np.array([thermo[f"c_p[{k}]"][0] for k in range(1, 7)])
    differences = np.array([thermo[f"f_v[{k}]"][0] for k in (1, 2, 3, 6, 5, 4)])
    if way == "local" or ranks == 1:
        assert np.abs(pressure - differences).max() < 1e-5 * np.abs(pressure).max()
    sums = np.array([thermo[f"c_sum[{k}]"][0] for k in range(1, 7)])
    assert np.abs(sums + pressure * thermo["Volume"][0]).max() < 1e-10 * np.abs(sums).max()


@pytest.mark.parametrize("way, ranks", [("local", 1), ("local", 2), ("messages", 2)])
def test_energy_is_conserved(way, ranks, lammps, toy):
    """Velocity Verlet errs by the square of the time step: a quarter of the drift with half of it."""
    spread = []
    for step, steps in ((0.002, 100), (0.001, 200)):
        text = ATOMS.replace("timestep 0.001", f"timestep {step}") + pair(toy(way)) + \
            f"fix n all nve\nthermo 10\nthermo_style custom step etotal ke\nthermo_modify format float %.17g\nrun {steps}\n"
        thermo = lammps(text, ranks).check().thermo()
        spread.append(np.ptp(thermo["TotEng"]))
        assert spread[-1] < 0.02 * np.ptp(thermo["KinEng"])  # else nothing has moved, or the forces are wrong
    assert spread[1] < 0.35 * spread[0]


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_fine_tuning(way, ranks, lammps, toy, tmp_path):
    """The forces come near to those of the reference, and the file that is written is the model that was trained."""
    path = toy(way)
    before = force_error(lammps, path)
    result = lammps(learn(path, "every 5 train 60 optimizer soap follow reference save 100 tuned.pth"), ranks).check()
    assert force_error(lammps, tmp_path / "tuned.pth") < 0.5 * before
    assert result.thermo()["f_t[7]"][-1] >= 240
    assert {"pair", "w1", "w2", "out_bias"} <= changed(path, tmp_path / "tuned.pth")
    # the checkpoint holds the same model
    energies = [lammps(ATOMS + pair(name) + REPORT.format(name="report")).check().value("pe") for name in ("tuned.pth", "tuned.pth.ckpt")]
    assert energies[0] == pytest.approx(energies[1], rel=1e-13)


@pytest.mark.parametrize("way", WAYS)
def test_training_is_the_same_on_any_number_of_ranks(way, lammps, toy):
    """Adam amplifies the rounding of small gradients: 1e-8, as for native models."""
    text = learn(toy(way), "every 5 train 10 optimizer adam batch 2 follow reference")
    one = lammps(text).check().thermo()
    for ranks in RANKS[1:]:
        many = lammps(text, ranks).check().thermo()
        for name in ("f_t", "f_t[1]", "f_t[3]", "f_t[4]", "f_t[5]", "f_t[6]", "f_t[7]"):
            assert np.allclose(many[name], one[name], rtol=1e-8, atol=1e-12), name


def test_resume_continues_to_the_same_numbers(lammps, toy, tmp_path):
    """Bit by bit: optimizer, frames and model come out of the checkpoint, the atoms out of the restart file."""
    options = "every 5 train 5 batch 2 optimizer adam save 1000 tuned.pth"
    path = toy()
    whole = lammps(learn(path, options, run="run 10\nrun 10")).check().thermo()
    lammps(learn(path, options, run="run 10\nwrite_restart some.restart")).check()
    fix = learn(path, options + " resume tuned.pth", run="run 10").split("timestep 0.001\n")[1]
    second = lammps("read_restart some.restart\ntimestep 0.001\n" + fix).check()
    assert "resumed from tuned.pth.ckpt" in second.output
    second = second.thermo()
    for name in ("f_t", "f_t[1]", "f_t[3]", "f_t[4]", "f_t[7]"):
        assert second[name][-1] == whole[name][-1], name
    assert second["PotEng"][-1] == pytest.approx(whole["PotEng"][-1], rel=1e-12)


@pytest.mark.parametrize("words, expected", [
    ("train only w2", {"w2"}), ("train only fitting_net train freeze b1", {"w1", "w2"}),
    ("train freeze *.pair train rate w1 0", {"b1", "w2"}), ("train rate fitting_net 0.1", {"pair", "w1", "b1", "w2"})])
def test_what_is_trained(words, expected, lammps, toy, tmp_path):
    """Tensors of the archive that are not trained keep their bits; the toy's message and wf have no gradient."""
    path = toy()
    lammps(learn(path, f"every 5 train 5 {words} optimizer adam save 1000 tuned.pth", run="run 10")).check()
    assert changed(path, tmp_path / "tuned.pth") - {"out_bias"} == expected


def test_rates(lammps, toy, tmp_path):
    """A tenth of the rate is a tenth of the first step."""
    path, steps = toy(), []
    for words in ("", "train rate w2 0.1"):
        lammps(learn(path, f"every 5 train 1 {words} optimizer adam save 1000 tuned.pth", run="run 0")).check()
        before, after = (np.frombuffer(tensors(p)["w2"]) for p in (path, tmp_path / "tuned.pth"))
        steps.append(after - before)
    assert np.abs(steps[0]).max() > 1e-5
    assert np.abs(steps[1] - 0.1 * steps[0]).max() < 1e-6 * np.abs(steps[0]).max()


def test_frame_parameters(lammps, toy):
    """The energy depends on them; without them, the message says what to write."""
    path = toy("fparam")
    energies = [lammps(ATOMS + pair(path, f"fparam {value}") + REPORT.format(name="report"), ranks).check().value("pe")
                for value, ranks in ((0.6, 1), (0.6, 2), (-0.4, 1))]
    assert energies[0] == pytest.approx(energies[1], rel=1e-12)
    assert abs(energies[0] - energies[2]) > 1e-3
    for words, expected in (("", "fparam V1"), ("fparam 1 2", "2 are given")):
        (error,) = lammps(ATOMS + pair(path, words) + "run 0\n", 2).errors()[:1]
        assert "fparam.pth" in error and "1 frame parameters" in error and expected in error


def test_restart_keeps_the_settings(lammps, toy):
    """Those of pair_style are in the file, also when it is written again; pair_coeff is given again."""
    path = toy("fparam")
    text = ATOMS + pair(path, "native no fparam 0.6") + "fix n all nve\nrun 5\nwrite_restart some.restart\n"
    more = 'run 5\nprint "RESULT pe $(pe:%.17g)"\n'
    expected = lammps(text + more).check().value("pe")
    again = f"read_restart some.restart\npair_coeff * * {path} A B\nfix n all nve\ntimestep 0.001\n"
    assert lammps(again + more).check().value("pe") == pytest.approx(expected, rel=1e-12)
    lammps(again + "write_restart second.restart\n", 2).check()
    assert lammps(again.replace("some", "second") + more, 2).check().value("pe") == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("way, ranks", [("local", 2), ("messages", 2)])
def test_hybrid_overlay_is_the_sum(way, ranks, lammps, toy):
    path = toy(way)
    both = lammps(ATOMS + f"pair_style hybrid/overlay dptrain lj/cut 4.0\npair_coeff * * dptrain {path} A B\n"
                  "pair_coeff * * lj/cut 0.1 2.6\n" + REPORT.format(name="both"), ranks).check().dump("both.dump")
    one = lammps(ATOMS + pair(path) + REPORT.format(name="one")).check().dump("one.dump")
    other = lammps(ATOMS + "pair_style lj/cut 4.0\npair_coeff * * 0.1 2.6\n" + REPORT.format(name="lj")).check().dump("lj.dump")
    for columns in (slice(1, 4), slice(4, 5)):
        total = one[:, columns] + other[:, columns]
        assert np.abs(both[:, columns] - total).max() < 1e-10 * np.abs(total).max()


@pytest.mark.parametrize("way", WAYS)
def test_null_elements(way, lammps, toy):
    """Atoms of type 2 belong to another style: the potential does not see them."""
    path = toy(way)
    text = ATOMS + f"pair_style hybrid/overlay dptrain zero 4.0\npair_coeff * * dptrain {path} A NULL\npair_coeff * * zero\n"
    some = [lammps(text + REPORT.format(name="some"), ranks).check().dump("some.dump") for ranks in (1, 2)]
    alone = lammps(ATOMS + "group second type 2\ndelete_atoms group second compress no\n" + pair(path) +
                   REPORT.format(name="alone")).check().dump("alone.dump")
    for table in some:
        mine = np.isin(table[:, 0], alone[:, 0])
        assert np.abs(table[mine][:, 1:5] - alone[:, 1:5]).max() < 1e-10 * np.abs(alone[:, 1:4]).max()
        assert np.all(table[~mine][:, 1:] == 0)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("way", ["features", "messages_features"])
def test_error_bars(way, ranks, lammps, toy, tmp_path):
    """The last layer's outputs of an archive give forces error bars, and the written file keeps what it takes."""
    path = toy(way)
    lammps(learn(path, "mode active every 5 accuracy 0.001 train 5 optimizer adam save 1000 tuned.pth", run="run 10"), ranks).check()
    text = ATOMS + pair(tmp_path / "tuned.pth") + "compute u all dptrain/uncertainty/atom\ndump u all custom 1 u.dump id c_u\n" \
        "dump_modify u sort id format float %.17g\nrun 0\n"
    one, other = (lammps(text, n).check().dump("u.dump")[:, 1] for n in (1, 2))
    assert one.min() > 0 and np.abs(one - other).max() < 1e-9 * one.max()


@pytest.mark.parametrize("ranks", [1, 2])
def test_refused_before_the_run(ranks, lammps, toy):
    """What cannot work ends the job at once, with one message, on any number of ranks."""
    local, messages = toy("local"), toy("messages")
    for path, options, expected in (
            (local, "save 10 tuned.dp", "choose a name that ends so"),
            (messages, "distribute space", "distribute frames"),
            (local, "train only fiting", "no parameter of the model has a name like fiting"),
            (local, "train only save 5 tuned.pth", "found the keyword save in place of PATTERN"),
            (local, "native no", "without 'model FILE")):
        result = lammps(learn(path, f"every 5 train 5 {options}", run="run 5"), ranks)
        assert result.status != 0 and expected in result.errors()[0], options
        assert "Step" not in result.output.split("ERROR")[0], options  # no step has been done


def test_the_model_of_the_beginning_is_kept(lammps, toy, tmp_path):
    """Also where its file is the one to save to; a continued training goes on with its own file."""
    path = toy()
    before = path.read_bytes()
    text = learn(path, f"every 5 train 5 train only fitting_net save 10 {path}", run="run 10")
    result = lammps(text).check()
    assert f"is kept as {path}.old" in result.output and Path(f"{path}.old").read_bytes() == before != path.read_bytes()
    assert re.search(r"trains \d+ of \d+ parameters", result.output)
    lammps(text.replace("train 5", f"resume {path}.ckpt train 5", 1)).check()
    assert not Path(f"{path}.old2").exists()


def test_times_of_the_active_mode_add_up(lammps, toy):
    """Time of saving, with the uncertainty that it renews, counts once: none is left over or missing for the MD."""
    output = lammps(learn(toy("features"), "mode active every 2 accuracy 1e-07 train 20 save 5 tuned.pth", run="run 8")).check().output
    (line,) = [line for line in output.splitlines() if line.lstrip().startswith("seconds: reference")]
    reference, training, md, total = (float(x) for x in re.findall(r"(-?[\d.]+)(?: \(|$)", line))
    assert min(reference, training, md) >= 0 and reference + training + md == pytest.approx(total, abs=0.03)


def test_walls_are_refused(lammps, toy):
    path = toy()
    for words in ("wall yes", "wall 1.0"):
        error = lammps(ATOMS + pair(path, words) + "run 0\n").errors()[0]
        assert "wall: " in error and "is run by LibTorch, and walls are for native models: add the pair style zbl" in error
    lammps(ATOMS + pair(path, "wall no") + "run 0\n").check()


@pytest.mark.parametrize("variant, expected", [
    ("spin", "use pair_style deepspin"), ("aparam", "without aparam"), ("dipole", "predicts dipole"), ("foreign", "elsewhere.thing")])
def test_archives_that_are_refused(variant, expected, lammps, toy):
    result = lammps(ATOMS + pair(toy(variant)) + "run 0\n", 2)
    assert result.status != 0 and f"{variant}.pth" in result.errors()[0] and expected in result.errors()[0]


def test_operators_that_are_never_called(lammps, toy):
    one, other = (lammps(ATOMS + pair(toy(name)) + REPORT.format(name="report")).check().value("pe") for name in ("local", "border"))
    assert one == other


def test_padding_counts_as_in_a_sorted_frame(lammps, toy):
    """Free places of a row count as the lowest type: on any number of ranks, whichever atoms a rank has."""
    text = ATOMS + pair(toy("padding")) + REPORT.format(name="report")
    one, *others = (lammps(text, ranks).check().dump("report.dump") for ranks in RANKS)
    for other in others:
        assert np.abs(other[:, 1:5] - one[:, 1:5]).max() < 1e-10 * np.abs(one[:, 1:5]).max()
