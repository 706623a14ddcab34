"""Terms of the energy beside the net (`terms` of the input), which the file of a potential carries: ZBL and tables."""

import json
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest

from labels import NATIVE, assert_same, label_values, native_values
from lammps_runner import run_lammps
from silicon import ATOMS, MODEL, REFERENCE, TRAINING, learn, write_input

RATTLE = "displace_atoms all random 0.1 0.1 0.1 4711 units box\n"
ZBL = {"type": "zbl", "inner": 2.0, "outer": 3.0}
TABLE = {"type": "table", "file": "si.table", "pairs": [["Si", "Si"]]}
STYLES = "pair_style hybrid/overlay dptrain {0}\npair_coeff * * dptrain plain.dp Si\n{1}\n"
NET_AND_ZBL = STYLES.format("zbl 2.0 3.0", "pair_coeff * * zbl 14 14")
NET_AND_TABLE = STYLES.format("table spline 4000", "pair_coeff * * table si.table SI 6.0")
ALONE = "pair_style dptrain\npair_coeff * * si.dp Si\n"


def write_table(path):
    """2 exp(-r) cos(2 r) (1 - (r / 6)^2)^3 eV, to 6 Angstrom: farther than the nets here look, 4.5 Angstrom."""
    r = np.linspace(1.0, 6.0, 2001)
    y = 1.0 - (r / 6.0) ** 2
    energy = 2.0 * np.exp(-r) * np.cos(2.0 * r) * y**3
    force = 2.0 * np.exp(-r) * y**2 * (y * (np.cos(2.0 * r) + 2.0 * np.sin(2.0 * r)) + np.cos(2.0 * r) * r / 6.0)
    rows = "\n".join(f"{k + 1} {a:.17g} {e:.17g} {f:.17g}" for k, (a, e, f) in enumerate(zip(r, energy, force)))
    path.write_text(f"# UNITS: metal\n\nSI\nN {len(r)}\n\n{rows}\n")


def without_terms(source, target):
    """A copy of a model file with the net alone."""
    shutil.copy(source, target)
    with h5py.File(target, "r+") as file:
        tree = json.loads(file.attrs["json"])
        assert tree["model"].pop("terms") and tree["model"]["@version"] == 4
        tree["model"]["@version"] = 2
        del tree["model_def_script"]["terms"]
        file.attrs["json"] = json.dumps(tree)


def settings(*terms):
    model = json.loads(json.dumps(MODEL))
    model["terms"] = list(terms)
    return {"model": model, **TRAINING}


@pytest.fixture(scope="module", params=["zbl", "table"])
def learned(request, tmp_path_factory):
    """Folder with si.dp, learned in a run with a term, and plain.dp, its net alone; the styles that are the same."""
    folder = tmp_path_factory.mktemp(request.param)
    write_table(folder / "si.table")
    (folder / "input.json").write_text(json.dumps(settings(ZBL if request.param == "zbl" else TABLE)))
    run_lammps(folder, learn("every 5 warmup 1 train 5 save 1000 si.dp")).check()
    without_terms(folder / "si.dp", folder / "plain.dp")
    return folder, NET_AND_ZBL if request.param == "zbl" else NET_AND_TABLE


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_terms_are_the_pair_styles_of_lammps(learned, ranks):
    """ZBL to the digits of the constant qqr2e of LAMMPS (14.399645), tables to those of another spline through 2001 rows."""
    folder, styles = learned
    alone = native_values(run_lammps(folder, ATOMS + RATTLE + ALONE + NATIVE, ranks))
    together = native_values(run_lammps(folder, ATOMS + RATTLE + styles + NATIVE, ranks))
    assert_same(alone, together, 2e-7)
    plain = native_values(run_lammps(folder, ATOMS + RATTLE + ALONE.replace("si.dp", "plain.dp") + NATIVE, ranks))
    assert np.abs(plain[1] - alone[1]).max() > 0.1 * np.abs(alone[1]).max()  # the term matters


def test_energy_is_conserved(learned):
    folder, _ = learned
    text = ATOMS.replace("create 2000", "create 300") + ALONE + "fix n all nve\nthermo 40\nthermo_style custom step etotal\n" \
        "thermo_modify format float %.17g\ntimestep 0.0001\nrun 400\n"
    energy = run_lammps(folder, text).check().thermo()["TotEng"]
    assert np.ptp(energy) < 1e-5 * 64  # eV, of 64 atoms


def test_python_and_show_have_them(learned):
    import dptrain

    folder, _ = learned
    run = run_lammps(folder, ATOMS + RATTLE + ALONE + NATIVE + "write_dump all custom x.dump id x y z modify sort id format float %.17g\n").check()
    positions = run.dump("x.dump")[:, 1:]
    potential = dptrain.load(folder / "si.dp")
    found = potential.evaluate(positions, ["Si"] * 64, np.diag([10.862] * 3))
    assert abs(found.energy - run.thermo()["PotEng"][-1]) < 1e-9 * abs(found.energy)
    (term,) = potential.info["terms"]
    assert term.startswith("zbl from 2 to 3 Angstrom") or term.startswith("table of 2001 rows to 6 Angstrom")
    shown = subprocess.run([sys.executable, "-m", "dptrain", "show", str(folder / "si.dp")], capture_output=True, text=True, check=True)
    assert term in shown.stdout


def test_nets_learn_what_terms_lack(silicon, tmp_path):
    """From labels of Stillinger-Weber and ZBL, with ZBL as a term, the net becomes that of Stillinger-Weber alone. The constants of
    the two ZBL differ by 3e-8, which training makes 2e-5."""
    moved = {"integrate": "fix n all move linear 0.1 0.05 0.0\ndisplace_atoms all random 0.1 0.1 0.1 4711 units box"}
    silicon(learn("every 5 warmup 2 train 10 save 1000 sw.dp", **moved)).check()
    (tmp_path / "input.json").write_text(json.dumps(settings(ZBL)))
    both = 'reference pair hybrid/overlay sw zbl 2.0 3.0 coeff "* * sw Si.sw Si" coeff "* * zbl 14 14" end'
    silicon(learn("every 5 warmup 2 train 10 save 1000 both.dp", reference=both, **moved)).check()
    without_terms(tmp_path / "both.dp", tmp_path / "net.dp")
    of = [native_values(silicon(ATOMS + RATTLE + ALONE.replace("si.dp", name) + NATIVE)) for name in ("net.dp", "sw.dp")]
    assert_same(*of, 1e-4)


@pytest.mark.parametrize("ranks", [1, 2])
def test_offline_training_and_restart(learned, silicon, tmp_path, ranks):
    """Frames of a run, learned by the command: the file has the term, and the training goes on from its checkpoint."""
    folder, _ = learned
    write_table(tmp_path / "si.table")
    data = settings(*json.loads((folder / "input.json").read_text())["model"]["terms"])
    data["training"] = {"numb_steps": 4, "disp_freq": 1, "save_freq": 4, "training_data": {"systems": ["data"], "batch_size": 1}}
    write_input(tmp_path)
    silicon(learn("every 5 warmup 100 dataset data"), ranks).check()
    (tmp_path / "offline.json").write_text(json.dumps(data))
    silicon("dptrain train offline.json\n", ranks).check()
    (tmp_path / "si.table").unlink()  # the numbers are in the checkpoint
    data["training"]["numb_steps"] = 8
    with h5py.File(tmp_path / "model.ckpt.dp") as file:
        data["model"]["terms"] = json.loads(file.attrs["json"])["model_def_script"]["terms"]
    (tmp_path / "offline.json").write_text(json.dumps(data))
    silicon("dptrain train offline.json --restart model.ckpt\n", ranks).check()
    values = native_values(silicon(ATOMS + RATTLE + ALONE.replace("si.dp", "model.ckpt.dp") + NATIVE, ranks))
    assert np.isfinite(values[0])


def test_a_table_that_is_not_there(silicon, tmp_path):
    (tmp_path / "input.json").write_text(json.dumps(settings(TABLE)))
    (error,) = set(silicon(learn("every 5 warmup 100"), 2).errors())
    assert "model/terms/0/file" in error and "si.table" in error


def test_reference_is_compared_with_all(silicon, tmp_path):
    """The labels are not touched by terms: a data set has them as the reference gives them."""
    write_table(tmp_path / "si.table")
    (tmp_path / "input.json").write_text(json.dumps(settings(ZBL, TABLE)))
    silicon(f"{ATOMS}{RATTLE}pair_style dptrain\npair_coeff * * input.json Si\n"
            f"fix t all dptrain mode passive {REFERENCE} warmup 100 dataset data\nrun 0\n").check()
    sw = native_values(silicon(ATOMS + RATTLE + "pair_style sw\npair_coeff * * Si.sw Si\n" + NATIVE))
    assert_same(label_values(tmp_path / "data"), sw, 1e-12)
