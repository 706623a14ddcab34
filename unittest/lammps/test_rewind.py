"""`rewind N` of fix dptrain: a run in trouble goes back to a trusted state. Trouble comes from the input here (atoms that are made
hot, or thrown), so that it comes at a known step; the model does not learn (train 0), so that the same place has the same energy."""

import re

import numpy as np
import pytest

from active import events
from silicon import ATOMS, PAIR, REFERENCE, learn, write_input
from test_bad_input import stops_with

TRAINED = "pair_style dptrain\npair_coeff * * si.dp Si"
FIX = f"fix t all dptrain {REFERENCE} mode active every 10 train 0 audit 0 accuracy 100 rewind "
THERMO = """thermo 1
thermo_style custom step temp pe etotal press vol lx ly lz xy f_t[30]{more}
thermo_modify format float %.17g
"""
DUMP = """dump d all custom 1 atoms.dump id xu yu zu vx vy vz
dump_modify d sort id format float %.17g
"""
HOT = "velocity all scale 30000"
THROWN = "set atom 7 vx 2000"
LINE = re.compile(r"Fix dptrain: step (\d+): (.*); back to the state of step (\d+), rewind (\d+) of (\d+)")


@pytest.fixture
def trained(silicon, learned_once, tmp_path):
    """Runs LAMMPS in a folder with a model si.dp that has learned on the way of 60 steps."""
    learned_once(learn("mode active every 5 warmup 3 train 20 optimizer adam accuracy 0.08 save 1000 si.dp", run="run 60"), tmp_path)
    return silicon


def run_with(trouble, rewinds=3, fixes="fix n all nve", steps=20, box="", more=""):
    """40 steps, trouble, and as many steps as it is told to go on."""
    return (f"{ATOMS}{box}{TRAINED}\n{fixes}\n{FIX}{rewinds} save 1000 out.dp\n{THERMO.format(more=more)}{DUMP}"
            f"run 40\n{trouble}\nrun {steps} pre no\n")


def rewinds(output):
    """[(step, why, state, number, most)] of the log."""
    return [(int(a), why, int(b), int(k), int(n)) for a, why, b, k, n in LINE.findall(output)]


def frames(path):
    """{step: [natoms][6]}: positions and velocities."""
    result = {}
    for block in path.read_text().split("ITEM: TIMESTEP")[1:]:
        head, atoms = block.split("ITEM: ATOMS")
        result[int(head.split()[0])] = np.array([[float(w) for w in line.split()[1:]] for line in atoms.splitlines()[1:]])
    return result


def rows(result):
    """{step: {column: value}}; of a step that is there twice, at the end of a run and at the start of the next, the first one."""
    columns, found = result.thermo(), {}
    for k, step in enumerate(columns["Step"]):
        found.setdefault(int(step), {name: values[k] for name, values in columns.items()})
    return found


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_run_goes_on_from_the_state(ranks, trained, tmp_path):
    """Positions to the last digits, energy and momentum; velocities go another way, and the total energy is conserved from there."""
    result = trained(run_with(HOT), ranks).check()
    assert [r[:1] + r[2:] for r in rewinds(result.output)] == [(41, 31, 1, 3)]
    assert "the temperature is" in rewinds(result.output)[0][1]
    asked = {int(e["step"]): e["why"] for e in events(result.output)}
    assert asked[41] == "rewind"  # also the trouble has a label
    assert {s for s, why in asked.items() if why == "rewind"} == {41, 46, 51, 56}
    place, thermo = frames(tmp_path / "atoms.dump"), rows(result)
    assert np.abs(place[42][:, :3] - place[31][:, :3]).max() < 1e-12
    assert np.abs(place[41][:, :3] - place[31][:, :3]).max() > 0.1
    assert thermo[42]["PotEng"] == pytest.approx(thermo[31]["PotEng"], abs=1e-9)
    assert thermo[42]["Temp"] == pytest.approx(thermo[31]["Temp"], rel=0.02)  # half a step with forces lies between
    v, w = place[31][:, 3:], place[42][:, 3:]
    assert np.abs(v.sum(axis=0) - w.sum(axis=0)).max() < 1e-10 * np.abs(v).sum()
    assert 0.1 < np.linalg.norm(v - w) / np.linalg.norm(v) < 0.25
    assert [thermo[s]["f_t[30]"] for s in (40, 41, 60)] == [0, 1, 1]
    total = np.array([thermo[s]["TotEng"] for s in range(42, 61)])
    kinetic = total - np.array([thermo[s]["PotEng"] for s in range(42, 61)])
    assert np.ptp(total) < 0.02 * np.ptp(kinetic)


def test_ranks_do_the_same(trained, tmp_path):
    """Up to rounding, which the motion of some steps hardly amplifies. Atoms come from a file: four ranks give them other ids."""
    trained(f"{ATOMS}write_data start.data nocoeff\n").check()
    start = "units metal\natom_modify map yes\nread_data start.data\ntimestep 0.001\n"
    runs = []
    for ranks in (1, 2, 4):
        result = trained(run_with(HOT + "\nrun 30 pre no\n" + THROWN).replace(ATOMS, start), ranks).check()
        runs.append((rewinds(result.output), frames(tmp_path / "atoms.dump")))
    assert len(runs[0][0]) == 2
    for lines, place in runs[1:]:
        assert lines == runs[0][0]
        for step in (42, 60, 90):
            assert np.abs(place[step] - runs[0][1][step]).max() < 1e-6, step


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_atom_that_flies_off(ranks, trained, tmp_path):
    """There is no label of what cannot be computed, and the way back is that of the same step."""
    result = trained(run_with(THROWN), ranks).check()
    assert rewinds(result.output) == [(41, "1 atom moved by more than 0.5 Angstrom in a time step", 31, 1, 3)]
    place = frames(tmp_path / "atoms.dump")
    assert np.abs(place[41][:, :3] - place[31][:, :3]).max() < 1e-12
    assert 41 not in [int(e["step"]) for e in events(result.output)]


def test_atoms_at_one_place(trained):
    """Where the model has no forces at all, or the reference none that are numbers, the run is not over."""
    move = "".join(f"variable {c} equal {c}[1]\n" for c in ("x", "y", "z", "vx", "vy", "vz"))
    move += "variable dx equal 1e-7\nset atom 2 x $(v_x+v_dx:%.17g) y $(v_y:%.17g) z $(v_z:%.17g) vx $(v_vx) vy $(v_vy) vz $(v_vz)"
    result = trained(run_with(move)).check()
    (step, why, _, _, _), = rewinds(result.output)
    assert step == 41 and re.match(r"atoms are \S+ apart, and were 2", why)


BAROSTATS = {
    "nvt": ("fix n all nvt temp 2000 2000 0.02", ""),
    "npt": ("fix n all npt temp 2000 2000 0.02 iso 0 0 0.05", ""),
    "npt tri": ("fix n all npt temp 2000 2000 0.02 tri 0 0 0.05", "change_box all triclinic\n"),
    "nph langevin": ("fix n all nph aniso 0 0 0.05\nfix l all langevin 2000 2000 0.1 4711", ""),
    "csvr": ("fix n all nve\nfix b all temp/csvr 2000 2000 0.02 4711", "")}


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("kind", BAROSTATS)
def test_thermostats_and_barostats_go_back(kind, ranks, trained, tmp_path):
    """The box to the last digits. What integrators know is that of the state too: between the two there is but the second half of
    a step, with other velocities, while the trouble would have changed it much more."""
    fixes, box = BAROSTATS[kind]
    more = "" if kind == "nph langevin" else " f_n[*]" if "nve" not in fixes else " f_b"
    result = trained(run_with(HOT, fixes=fixes, box=box, more=more), ranks).check()
    assert [r[:1] + r[2:] for r in rewinds(result.output)] == [(41, 31, 1, 3)]
    assert "go on with what they remember" not in result.output
    place, thermo = frames(tmp_path / "atoms.dump"), rows(result)
    assert np.abs(place[42][:, :3] - place[31][:, :3]).max() < 1e-11
    for name in ("Lx", "Ly", "Lz", "Xy", "Volume"):
        assert thermo[42][name] == pytest.approx(thermo[31][name], abs=1e-11), name
    if "np" in kind:
        assert abs(thermo[41]["Lx"] - thermo[31]["Lx"]) > 1e-6  # it has changed, by far more than 1e-11
    assert thermo[42]["PotEng"] == pytest.approx(thermo[31]["PotEng"], abs=1e-8)
    for name in thermo[42]:
        if name.startswith(("f_n[", "f_b")) and abs(thermo[41][name] - thermo[31][name]) > 1e-9:
            back, trouble = (abs(thermo[s][name] - thermo[31][name]) for s in (42, 41))
            assert back < 0.2 * trouble, (name, back, trouble)


@pytest.mark.parametrize("ranks", [1, 2])
def test_hybrid_pair_styles_and_other_atom_styles(ranks, trained, tmp_path):
    hybrid = "pair_style hybrid/overlay dptrain zbl 0.5 1.0\npair_coeff * * dptrain si.dp Si\npair_coeff * * zbl 14 14"
    text = run_with(HOT).replace(TRAINED, hybrid).replace("atom_style atomic", "atom_style full")
    result = trained(text, ranks).check()
    assert [r[:1] + r[2:] for r in rewinds(result.output)] == [(41, 31, 1, 3)]
    place = frames(tmp_path / "atoms.dump")
    assert np.abs(place[42][:, :3] - place[31][:, :3]).max() < 1e-12


def test_atoms_keep_what_fixes_keep_with_them(trained):
    """Displacements from the start, which a compute keeps with the atoms, are those of the state."""
    text = run_with(HOT, more=" c_m[4]").replace(FIX, "compute m all msd\n" + FIX)
    for ranks in (1, 2):
        thermo = rows(trained(text, ranks).check())
        assert thermo[42]["c_m[4]"] == pytest.approx(thermo[31]["c_m[4]"], rel=1e-9)


def test_an_answer_above_the_limit(trained):
    """The limit is chosen from the errors of a run without, so that one of them is above it and less was expected."""
    text = f"{ATOMS}{TRAINED}\nfix n all nve\nfix t all dptrain {REFERENCE} mode active every 10 train 0 audit 4 duplicate 0 coverage 0.5 accuracy 100 {{0}}\nrun 60\n"
    found = [(int(e["step"]), float(e["expected"]), float(e["true"])) for e in events(trained(text.format("limit 1e4 repeat")).check().output)
             if e["why"] == "audit" and e["expected"] != "-" and int(e["step"]) > 12]
    step, expected, true = max(found, key=lambda e: e[2] / e[1])
    assert true > expected, "the model is too careful for this test"
    limit = (expected * true)**0.5
    text = text.replace("accuracy 100", f"accuracy {limit / 10:.6g}").format(f"limit {limit:.6g} repeat rewind 1")
    result = trained(text).check()
    (at, why, state, _, _), = rewinds(result.output)
    event, = [e for e in events(result.output) if int(e["step"]) == at]
    assert limit < float(event["true"]) and at <= step
    assert why.startswith("the force error of an atom is") and state <= at - 10


def test_after_the_last_one(trained, tmp_path):
    """What cannot be survived ends the run with one error, after what was learned has been saved; what can goes on."""
    again = f"{THROWN}\nrun 20 pre no\n{THROWN}\nrun 20 pre no\n"
    for ranks in (1, 2):
        (tmp_path / "out.dp").unlink(missing_ok=True)
        result = trained(run_with(THROWN + "\nrun 20 pre no\n" + THROWN, rewinds=1), ranks)
        stops_with(result, "step 61", "1 atom moved by more than 0.5 Angstrom", "the one rewind is used")
        assert (tmp_path / "out.dp").exists() and (tmp_path / "out.dp.ckpt").exists()
    result = trained(run_with(f"{HOT}\nrun 20 pre no\n{HOT}", rewinds=1)).check()
    assert len(rewinds(result.output)) == 1
    assert len(rewinds(trained(run_with(again, rewinds=5)).check().output)) == 2


def test_minimize_and_rerun(trained, tmp_path):
    """Neither has a way back, and both do what they do without the keyword."""
    text = f"{ATOMS}{TRAINED}\nfix n all nve\n{FIX}{{0}}\n{DUMP}run 20\nundump d\nminimize 0 0 10 20\nprint \"RESULT min $(pe:%.17g)\"\n" \
        "rerun atoms.dump dump x y z vx vy vz box no\nprint \"RESULT rerun $(pe:%.17g)\"\n"
    text = text.replace("id xu yu zu", "id x y z")
    for ranks in (1, 2):
        with_, without = trained(text.format(2), ranks).check(), trained(text.format(0), ranks).check()
        for name in ("min", "rerun"):
            assert with_.value(name) == without.value(name)


@pytest.mark.parametrize("fix, texts", [
    ("fix x all deform 10 x scale 1.1", ["fix x of style deform", "by the time", "remove"]),
    ("fix x all move linear 1 0 0", ["fix x of style move"]),
    ("fix x all balance 10 1.1 shift xyz 5 1.1", ["fix x of style balance", "other ranks"]),
    ("fix x all evaporate 10 1 r 49892", ["fix x of style evaporate", "removes"])])
def test_fixes_that_cannot_go_back(fix, texts, trained):
    box = "region r block 0 1 0 1 0 1\n"
    stops_with(trained(f"{ATOMS}{box}{TRAINED}\nfix n all nve\n{fix}\n{FIX}1\nrun 10\n"), "rewind is not possible with", *texts)


def test_fixes_that_remember_are_named_once(trained):
    text = f"{ATOMS}{TRAINED}\nfix n all nve\nfix q all thermal/conductivity 10 z 10\nfix p all print 10 x\nfix a all ave/time 1 5 5 c_thermo_temp\n{FIX}1\nrun 10\nrun 10\n"
    result = trained(text).check()
    named = [line for line in result.output.splitlines() if "go on with what they remember" in line]
    assert len(named) == 1 and named[0].split("remember: ")[1].split(" (src")[0].strip() == "q (thermal/conductivity)"


@pytest.mark.parametrize("options, texts", [
    ("mode active rewind -1", ["rewind", "-1"]),
    ("mode active rewind much", ["rewind", "much"]),
    ("rewind 3", ["rewind needs 'mode active'"])])
def test_bad_words(options, texts, message, tmp_path):
    write_input(tmp_path)
    stops_with(message(learn(options)), *texts)


def test_nothing_to_go_back_in_a_selection(trained):
    stops_with(trained(f"{ATOMS}{TRAINED}\nfix n all nve\nfix t all dptrain reference run mode active dataset out rewind 2\nrun 1\n"),
               "rewind 2 is not possible with 'reference run'")


def test_off_is_as_it_was(silicon):
    """rewind 0, and a rewind that nothing calls for, are the run without the keyword, to the last bit."""
    results = [silicon(learn("mode active every 5 warmup 3 train 20 optimizer adam accuracy 0.08 limit 10 repeat " + words, run="run 40", pair=PAIR)).check().thermo()
               for words in ("", "rewind 0", "rewind 5")]
    for other in results[1:]:
        assert np.array_equal(other["PotEng"], results[0]["PotEng"])
        assert other["f_t[30]"][-1] == 0
