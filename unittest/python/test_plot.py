"""`python -m dptrain.plot`: numbers against numpy, figures exist, wrong files give one clear line."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from dptrain import plot  # noqa: E402

PNG = b"\x89PNG\r\n\x1a\n"
LCURVE = """# step       rmse_trn    rmse_e_trn    rmse_f_trn   lr
# If there is no available reference data, rmse_*_{val,trn} will print nan
      1      3.04e+01      2.23e-01      9.63e-01    5.0e-03
     20      1.72e+01      1.71e-01      5.44e-01    4.0e-03
     40      1.02e+01      0.71e-01      2.44e-01    3.0e-03
"""


def write_dump(path, frames, energy=True):
    """frames: list of (step, force [n][3], energy [n]); rows in a random order, as without `dump_modify sort`."""
    order = np.random.default_rng(7)
    with open(path, "w") as file:
        for step, force, energies in frames:
            file.write(f"ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n{len(force)}\n"
                       "ITEM: BOX BOUNDS pp pp pp\n0 1\n0 1\n0 1\n"
                       f"ITEM: ATOMS id type x y z fx fy fz{' c_pe' if energy else ''}\n")
            for k in order.permutation(len(force)):
                values = [*force[k], *([energies[k]] if energy else [])]
                file.write(f"{k + 1} 1 0 0 0 " + " ".join(f"{v:.17g}" for v in values) + "\n")


@pytest.fixture
def dumps(tmp_path):
    """Two dumps of 3 frames with 5 atoms: names, and the arrays in them."""
    rng = np.random.default_rng(1)
    force, energy = rng.normal(size=(2, 3, 5, 3)), rng.normal(size=(2, 3, 5))
    names = [str(tmp_path / name) for name in ("reference.dump", "predicted.dump")]
    for k, name in enumerate(names):
        write_dump(name, [(10 * f, force[k, f], energy[k, f]) for f in range(3)])
    return names, force, energy


def test_errors_of_two_dumps(dumps):
    names, force, energy = dumps
    found = plot.compare(*names)
    assert found.frames == 3
    # 17 digits in the file: rounding only
    assert found.force_rmse == pytest.approx(np.sqrt(np.mean((force[1] - force[0]) ** 2)), rel=1e-14)
    assert found.force_rms == pytest.approx(np.sqrt(np.mean(force[0] ** 2)), rel=1e-14)
    per_atom = energy.mean(axis=2)
    assert found.energy_rmse == pytest.approx(np.sqrt(np.mean((per_atom[1] - per_atom[0]) ** 2)), rel=1e-13)


def test_parity_figure_and_printed_numbers(dumps, tmp_path, capsys):
    names, force, _ = dumps
    figure = tmp_path / "parity.png"
    assert plot.main([*names, "-o", str(figure)]) == 0
    assert figure.read_bytes().startswith(PNG)
    rmse = np.sqrt(np.mean((force[1] - force[0]) ** 2))
    assert f"{rmse:.4f} eV/A" in capsys.readouterr().out


def test_dumps_without_energies(tmp_path, capsys):
    for name, value in (("a.dump", 1.0), ("b.dump", 1.5)):
        write_dump(tmp_path / name, [(0, np.full((2, 3), value), None)], energy=False)
    found = plot.compare(tmp_path / "a.dump", tmp_path / "b.dump")
    assert found.energy_rmse is None and found.force_rmse == pytest.approx(0.5, rel=1e-14)
    assert plot.main([str(tmp_path / "a.dump"), str(tmp_path / "b.dump"), "-o", str(tmp_path / "p.png")]) == 0
    assert "energy" not in capsys.readouterr().out


def test_learning_curve(tmp_path):
    (tmp_path / "lcurve.out").write_text(LCURVE)
    columns = plot.read_lcurve(tmp_path / "lcurve.out")
    assert list(columns) == ["step", "rmse_trn", "rmse_e_trn", "rmse_f_trn", "lr"]
    assert columns["rmse_f_trn"] == pytest.approx([0.963, 0.544, 0.244], rel=1e-14)
    # as users call it, in a process of its own
    done = subprocess.run([sys.executable, "-m", "dptrain.plot", str(tmp_path / "lcurve.out"), "-o", "curve.png"],
                          cwd=tmp_path, capture_output=True, text=True,
                          env={"PYTHONPATH": str(Path(plot.__file__).parents[1]), "MPLCONFIGDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "curve.png").read_bytes().startswith(PNG)


def test_learning_curve_with_other_columns_after_a_resume(tmp_path):
    path = tmp_path / "lcurve.out"
    path.write_text(LCURVE + "# step   rmse_trn   rmse_f_trn   rmse_v_trn   lr\n     60      5.0      0.2      0.01   2.0e-03\n")
    found = plot.read_lcurve(path)
    assert list(found["step"]) == [1, 20, 40, 60]
    assert list(found["rmse_f_trn"]) == [0.963, 0.544, 0.244, 0.2]
    assert np.isnan(found["rmse_e_trn"][3]) and np.isnan(found["rmse_v_trn"][:3]).all() and found["rmse_v_trn"][3] == 0.01
    assert plot.main([str(path), "-o", str(tmp_path / "x.png")]) in (None, 0)


@pytest.mark.parametrize("content, message", [
    ("", "not a learning curve"),
    ("1 2 3\n", "not a learning curve"),
    (LCURVE.splitlines()[0] + "\n", "no training step"),
    (LCURVE + "60 1.0\n", "2 numbers where 5 columns"),
    (LCURVE + "60 1 2 x 4\n", "not a number")])
def test_wrong_learning_curves(content, message, tmp_path, capsys):
    (tmp_path / "lcurve.out").write_text(content)
    assert plot.main([str(tmp_path / "lcurve.out"), "-o", str(tmp_path / "c.png")]) == 1
    printed = capsys.readouterr().err
    assert message in printed and "lcurve.out" in printed and len(printed.splitlines()) == 1
    assert not (tmp_path / "c.png").exists()


def test_wrong_dumps(dumps, tmp_path, capsys):
    (reference, predicted), force, energy = dumps
    broken = {
        "missing.dump": (None, "missing.dump"),
        "text.dump": ("hello\n", "not a LAMMPS text dump"),
        "empty.dump": ("", "no frame"),
        "cut.dump": (Path(predicted).read_text()[:-60], "ends inside a frame"),
        "columns.dump": (Path(predicted).read_text().replace("fx fy fz", "vx vy vz"), "missing columns: fx fy fz"),
    }
    for name, (content, message) in broken.items():
        if content is not None:
            (tmp_path / name).write_text(content)
        assert plot.main([reference, str(tmp_path / name), "-o", str(tmp_path / "p.png")]) == 1
        printed = capsys.readouterr().err
        assert message in printed and len(printed.splitlines()) == 1, name
    write_dump(tmp_path / "other.dump", [(99, force[1, 0], energy[1, 0])])
    assert plot.main([reference, str(tmp_path / "other.dump")]) == 1
    assert "different frames" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        plot.main([reference, predicted, reference])
