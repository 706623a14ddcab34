"""model_devi.out of `pair_style dptrain` beside that of DeePMD-kit's own `pair_style deepmd`: the same committee, the same
keywords, in LAMMPS both. Needs DeePMD-kit with PyTorch and its `lmp` (DPTRAIN_DEEPMD, its `dp` executable, or `dp` on the PATH).
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lammps"))
from committee import make_member  # noqa: E402
from lammps_runner import PATIENT, REFERENCE, run_lammps  # noqa: E402

DP = os.environ.get("DPTRAIN_DEEPMD") or shutil.which("dp")
LMP = Path(DP).parent / "lmp" if DP else None
pytestmark = [pytest.mark.story("interop"),
              pytest.mark.skipif(not (LMP and LMP.exists()), reason="DeePMD-kit's lmp is not here: set DPTRAIN_DEEPMD to its dp executable")]

SYSTEMS = {"triclinic": (REFERENCE / "triclinic_3type", "all3.data", "Al Cu Ni"), "water": (REFERENCE / "two_side", "liquid.data", "O H")}
WORDS = ["", "atomic", "relative 0.4", "relative_v 0.3 atomic"]
INPUT = """units {units}
atom_modify map yes
read_data {data}
pair_style {style} out_freq 2 out_file {out} {words}
pair_coeff {coeff}
velocity all create 300 4711
fix n all nve
timestep {timestep}
run 4
run 2
{after}"""


def deepmd_environment():
    kept = {k: v for k, v in os.environ.items() if k not in ("LAMMPS_PLUGIN_PATH", "PYTHONPATH", "LD_LIBRARY_PATH")}
    return {**kept, **PATIENT, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "DP_INTRA_OP_PARALLELISM_THREADS": "1",
            "DP_INTER_OP_PARALLELISM_THREADS": "1"}


def run_deepmd(folder, text, ranks):
    (folder / "in.deepmd").write_text(text)
    done = subprocess.run([LMP.parent / "mpiexec", "-n", str(ranks), LMP, "-in", "in.deepmd", "-log", "none"], cwd=folder,
                          capture_output=True, text=True, timeout=300, env=deepmd_environment())
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


@pytest.fixture(scope="module", params=SYSTEMS)
def case(request, tmp_path_factory):
    """(folder with four models in both formats, data file, elements)."""
    folder = tmp_path_factory.mktemp(request.param)
    source, data, elements = SYSTEMS[request.param]
    for k in range(4):
        make_member(source / "model.dp", folder / f"m{k}.dp", k)
        subprocess.run([DP, "convert-backend", f"m{k}.dp", f"m{k}.pth"], cwd=folder, check=True, capture_output=True,
                       timeout=300, env=deepmd_environment())
    return folder, source / data, elements


def compare(ours, peers):
    """The same characters but for last digits: forces of both programs agree to 1e-10 relative, seven digits are printed."""
    a, b = ours.read_text().splitlines(), peers.read_text().splitlines()
    assert a[0] == b[0] and [len(line) for line in a] == [len(line) for line in b]
    table, expected = np.loadtxt(ours), np.loadtxt(peers)
    assert np.array_equal(table[:, 0], expected[:, 0])
    np.testing.assert_allclose(table, expected, rtol=2e-6, atol=1e-13)
    return np.mean([x == y for x, y in zip("".join(a), "".join(b))])


def both(case, words, ranks, name, units="metal", timestep="0.0002", after=""):
    folder, data, elements = case
    common = {"units": units, "data": data, "words": words, "timestep": timestep, "after": after}
    run_deepmd(folder, INPUT.format(style="deepmd m0.pth m1.pth m2.pth m3.pth", coeff=f"* * {elements}", out=f"{name}.deepmd", **common), ranks)
    run_lammps(folder, INPUT.format(style="dptrain committee m1.dp m2.dp m3.dp end", coeff=f"* * m0.dp {elements}", out=f"{name}.out",
                                    **common), ranks).check()
    return compare(folder / f"{name}.out", folder / f"{name}.deepmd")


@pytest.mark.parametrize("words", WORDS)
def test_same_file(words, case):
    """Rows of two runs, the first one of the second being that of the last step before it once more."""
    assert both(case, words, 1, words.split(" ")[0] or "plain") > 0.99
    assert len((case[0] / f"{words.split(' ')[0] or 'plain'}.out").read_text().splitlines()) == 1 + 3 + 2


def test_same_file_on_two_ranks(case):
    assert both(case, "atomic", 2, "ranks") > 0.99


def test_same_file_in_other_units(case):
    assert both(case, "", 1, "real", units="real", timestep="0.2") > 0.97


def test_same_rows_of_a_minimization(case):
    """One for each evaluation of the forces at a step in question."""
    assert both(case, "", 1, "minimize", after="min_style cg\nminimize 0 0 3 20\n") > 0.9
