"""`dptrain plot`: numbers against numpy, figures exist, wrong files give one clear line."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from dptrain import figures, plot  # noqa: E402

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
    printed = capsys.readouterr().out
    assert f"RMSE {rmse:.4e}" in printed and f"wrote {figure}\n" in printed
    assert f"{100 * rmse / np.sqrt(np.mean(force[0] ** 2)):.2f} % of the rms force" in printed


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


def test_rows_that_a_restart_wrote_again(tmp_path):
    """From a checkpoint between two rows, and from one at a row."""
    path = tmp_path / "lcurve.out"
    path.write_text(LCURVE + "     30      9.0      0.2      0.4   3.5e-03\n     40      8.0      0.2      0.3   3.0e-03\n"
                    "     40      7.0      0.2      0.2   3.0e-03\n")
    found = plot.read_lcurve(path)
    assert list(found["step"]) == [1, 20, 30, 40]
    assert list(found["rmse_trn"]) == [30.4, 17.2, 9.0, 7.0]


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
    assert plot.main([reference, predicted, reference]) == 1
    assert "give two dumps" in capsys.readouterr().err


# ------------------------------------------------------------------------------ detail files of `dptrain test -d`

VIRIAL = " ".join(f"{side}_v{a}{b}" for side in ("data", "pred") for a in "xyz" for b in "xyz")
COLUMNS = {"e": "data_e pred_e", "e_peratom": "data_e pred_e", "v": VIRIAL, "v_peratom": VIRIAL,
           "f": " ".join(f"{side}_f{a}" for side in ("data", "pred") for a in "xyz")}


@pytest.fixture
def details(tmp_path):
    """Detail files of two systems in the format of `dp test -d detail`: prefix, and {end: (reference, predicted)}."""
    rng, values = np.random.default_rng(3), {}
    for end, columns in COLUMNS.items():
        half = len(columns.split()) // 2
        rows = rng.normal(size=(2, 7, 2 * half))
        with open(tmp_path / f"detail.{end}.out", "w") as file:
            for k, name in enumerate(("data/a b: c", "data/d")):
                np.savetxt(file, rows[k], header=f"{name}: {columns}")
        values[end] = rows.reshape(-1, 2 * half)[:, :half].ravel(), rows.reshape(-1, 2 * half)[:, half:].ravel()
    return str(tmp_path / "detail"), values


def test_detail_files(details):
    prefix, values = details
    found = plot.read_pairs([prefix])
    assert [(pairs.quantity, pairs.unit) for pairs in found] == [("energy", "eV/atom"), ("force", "eV/\u00c5"), ("virial", "eV/atom")]
    for pairs, end in zip(found, ("e_peratom", "f", "v_peratom")):
        reference, predicted = values[end]
        # 19 digits in the file: rounding only
        assert pairs.rmse == pytest.approx(np.sqrt(np.mean((predicted - reference) ** 2)), rel=1e-14)
        assert pairs.mae == pytest.approx(np.mean(np.abs(predicted - reference)), rel=1e-14)
    (total,) = plot.read_pairs([prefix + ".e.out"])
    assert total.unit == "eV" and np.allclose(total.reference, values["e"][0], rtol=1e-15)


def test_quantities_without_labels_are_left_out(details):
    prefix, _ = details
    np.savetxt(prefix + ".v_peratom.out", np.hstack([np.zeros((4, 9)), np.ones((4, 9))]), header=f"data: {VIRIAL}")
    assert [pairs.quantity for pairs in plot.read_pairs([prefix])] == ["energy", "force"]
    assert [pairs.quantity for pairs in plot.read_pairs([prefix + ".v_peratom.out"])] == ["virial"]


@pytest.mark.parametrize("kind, end", [("parity", ".png"), ("errors", ".pdf"), ("parity", ".svg")])
def test_figures_of_detail_files(kind, end, details, tmp_path, capsys):
    prefix, values = details
    figure = tmp_path / ("figure" + end)
    assert plot.main([kind, prefix, "-o", str(figure)]) == 0
    assert figure.read_bytes()[:5] in (PNG[:5], b"%PDF-", b"<?xml")
    printed = capsys.readouterr().out
    error = np.abs(values["f"][1] - values["f"][0])
    assert (f"max {error.max():.3e}" if kind == "errors" else f"MAE {error.mean():.4e}") in printed


def test_the_kind_is_told_by_the_file(details, tmp_path):
    prefix, _ = details
    (tmp_path / "curve").write_text(LCURVE)
    assert plot.kind_of([str(tmp_path / "curve")]) == "lcurve"
    assert plot.kind_of([prefix + ".f.out", prefix + ".e.out"]) == "parity"
    assert plot.kind_of([prefix]) == "parity"


@pytest.mark.parametrize("text, message", [
    ("# a: data_e pred_e\n1 2\n1 2 3\n", "x.e.out:3: 3 columns"), ("# a: data_e pred_e\n1 two\n", "a table of numbers is needed"),
    ("", "no numbers"), ("1 2\n", "must name the columns"), ("# a: data_e pred_e\nnan 1\n", "no row has both")])
def test_wrong_detail_files(text, message, tmp_path, capsys):
    (tmp_path / "x.e.out").write_text(text)
    assert plot.main(["parity", str(tmp_path / "x.e.out"), "-o", str(tmp_path / "p.png")]) == 1
    printed = capsys.readouterr().err
    assert message in printed and printed.count("\n") == 1


def test_wrong_command_lines_of_plot(details, tmp_path, capsys):
    prefix, _ = details
    for words, message in ((["parity", prefix, "-o", "figure.doc"], "unknown format"), (["parity", "nothing"], "nor the prefix"),
                           (["errors", prefix, "--bins", "0"], "at least 1"), (["lcurve"], "FILE"), ([], "FILE is missing")):
        try:
            assert plot.main(words) == 1
        except SystemExit as stop:
            assert stop.code == 2
        assert message in capsys.readouterr().err, words


def test_all_terms_of_the_loss_are_drawn():
    """Known ones first, whatever the curves hold: also of a term that this program has no words for."""
    def column(*numbers):
        return np.array(numbers)
    curves = [{"step": column(1, 2), "rmse_trn": column(3, 2), "rmse_q_val": column(1, 1), "rmse_q_trn": column(1, 1),
               "mae_ae_trn": column(1, 1), "rmse_f_trn": column(1, 1), "rmse_v_trn": column(np.nan, np.nan), "lr": column(1, 1)}]
    assert figures.lcurve_columns(curves, ()) == ["rmse_f", "rmse_q", "mae_ae"]
    assert figures.lcurve_columns([{name: curves[0][name] for name in ("step", "rmse_trn", "lr")}], ()) == ["rmse"]


def test_several_learning_curves(tmp_path, capsys):
    names = [str(tmp_path / name) for name in ("a.out", "b.out")]
    for name in names:
        Path(name).write_text("# step rmse_val rmse_trn rmse_e_val rmse_e_trn lr\n1 3 2 0.3 0.2 1e-3\n9 2 1 0.2 nan 1e-4\n")
    figure = tmp_path / "curves.pdf"
    assert plot.main(["lcurve", *names, "-o", str(figure), "--labels", "first", "second", "--smooth", "1"]) == 0
    assert figure.read_bytes().startswith(b"%PDF-")
    assert plot.main(["lcurve", names[0], "-o", str(figure), "--columns", "rmse_f"]) == 1
    assert "choose one of step rmse_val" in capsys.readouterr().err
    assert plot.main(["lcurve", *names, "--labels", "one"]) == 1


# ------------------------------------------------------------------------------ uncertainty


def test_uncertainty_of_a_calibrated_model(tmp_path, capsys):
    rng = np.random.default_rng(5)
    sigma = np.exp(rng.normal(size=4000))
    error = sigma * rng.normal(size=4000)
    np.savetxt(tmp_path / "a.txt", np.column_stack([np.arange(4000), error, sigma]), header="step error sigma", delimiter=",")
    found = plot.read_uncertainty([str(tmp_path / "a.txt")])
    assert np.allclose(found, [sigma, np.abs(error)], rtol=1e-15)
    rms_sigma, rms_error = plot.bin_rms(*found, 10)
    # 400 normal numbers in a bin: standard deviation of their rms 1 / sqrt(800) = 3.5 %
    assert np.all(np.diff(rms_sigma) > 0) and np.allclose(rms_error / rms_sigma, 1, atol=0.14)
    assert plot.main(["uncertainty", str(tmp_path / "a.txt"), "-o", str(tmp_path / "u.png")]) == 0
    assert (tmp_path / "u.png").read_bytes().startswith(PNG) and "4000" in capsys.readouterr().out


def test_model_deviations_beside_detail_files(details, tmp_path):
    prefix, values = details
    devi = np.abs(np.random.default_rng(1).normal(size=(7, 8)))
    np.savetxt(tmp_path / "devi.out", devi, header="\nstep max_devi_v min_devi_v avg_devi_v max_devi_f min_devi_f avg_devi_f devi_e")
    force = np.linalg.norm((values["f"][1] - values["f"][0]).reshape(7, 2, 3), axis=2)  # 14 atoms in 7 frames
    names = [str(tmp_path / "devi.out"), prefix + ".f.out"]
    assert np.allclose(plot.read_uncertainty(names), [devi[:, 6], force.mean(axis=1)], rtol=1e-14)
    assert np.allclose(plot.read_uncertainty(names, "max_devi_f"), [devi[:, 4], force.max(axis=1)], rtol=1e-14)
    with pytest.raises(plot.FileError, match="do not fit"):
        np.savetxt(tmp_path / "devi.out", devi[:5], header="\nstep max_devi_v min_devi_v avg_devi_v max_devi_f min_devi_f avg_devi_f devi_e")
        plot.read_uncertainty(names)


def test_uncertainties_from_other_files_are_refused(details, tmp_path, capsys):
    prefix, _ = details
    assert plot.main(["uncertainty", prefix + ".f.out", "-o", str(tmp_path / "u.png")]) == 1
    printed = capsys.readouterr().err
    assert "data_fx" in printed and "sigma and error are needed" in printed and not (tmp_path / "u.png").exists()
    np.savetxt(tmp_path / "plain.txt", [[1, 2.0], [2, 3], [3, 4]])
    assert np.array_equal(plot.read_uncertainty([str(tmp_path / "plain.txt")]), [[1, 2, 3], [2, 3, 4]])


def test_rank_correlation():
    # by hand: ranks 0 1 2 3 and 0 2 1 3, 1 - 6 * 2 / (4 * 15)
    assert plot.rank_correlation(np.array([1.0, 2, 5, 9]), np.array([0.0, 8, 3, 100])) == pytest.approx(0.8, abs=1e-14)


ACTIVE_LOG = """fix             learn all dptrain reference pair sw coeff "* * Si.sw Si" end mode active
Fix dptrain: largest force errors of an atom, force units; seconds of reference, training and MD
dptrain       step       why  expected      true       rms    learned  moved_by  frames   calls reference  training        MD
dptrain          0     early         -         -         -          - reference       1       1      0.00      0.00      0.20
Per MPI rank memory allocation (min/avg/max) = 3.549 | 3.549 | 3.549 Mbytes
   Step          Temp          PotEng      f_learn[13]   f_learn[14]
         0   600           -276.12353      0              2
dptrain         20     early    0.0873     0.068   0.01869   held_out reference       2      21      0.01      1.05      0.45
        50   610           -276.0          0.5            2
dptrain         60     audit       0.1       0.3   0.04276  duplicate     model       2      22      0.01      1.05      0.50
Loop time of 54.4574 on 1 procs for 100 steps with 64 atoms
dptrain       step       why  expected      true       rms      jump    learned  moved_by  frames   calls reference  training        MD
   Step          Temp          PotEng      f_learn[13]   f_learn[14]
       100   620           -276.0          0.6            3
dptrain        130 threshold      3.39     1.472    0.3346      0.01      1.163     model       3      23      0.00      3.78      0.69
       200   630           -276.0          0.7            3
Loop time of 54.4574 on 1 procs for 100 steps with 64 atoms
dptrain        140 thresh
"""


def test_events_are_read_by_the_names_of_their_columns(tmp_path):
    """Of two runs, the second one with a further column; the last line was cut off."""
    path = tmp_path / "log.lammps"
    path.write_text(ACTIVE_LOG)
    events = plot.read_events(path)
    assert list(events["step"]) == [0, 20, 60, 130]
    assert list(events["why"]) == ["early", "early", "audit", "threshold"]
    assert list(events["learned"]) == ["-", "held_out", "duplicate", "1.163"]
    assert np.isnan(events["true"][0]) and list(events["true"][1:]) == [0.068, 0.3, 1.472]
    assert np.isnan(events["jump"][:3]).all() and events["jump"][3] == 0.01
    course = plot.read_course(path)
    assert list(course["step"]) == [0, 50, 100, 200] and list(course["temp"]) == [600, 610, 620, 630]
    assert list(course["expected"]) == [0, 0.5, 0.6, 0.7] and list(course["threshold"]) == [2, 2, 3, 3]


@pytest.mark.parametrize("kind", [[], ["active"]])
def test_figure_of_an_active_run(kind, tmp_path, capsys):
    path, figure = tmp_path / "log.lammps", tmp_path / "a.png"
    path.write_text(ACTIVE_LOG)
    assert plot.main([*kind, str(path), "-o", str(figure)]) == 0
    printed = capsys.readouterr().out
    assert "frames 3, reference calls 23 in 200 steps (11.50 %)" in printed
    assert "audit           1, largest true error: median 0.3, max 0.3" in printed
    # expected 0.0873 0.1 3.39 and true 0.068 0.3 1.472: the same order
    assert "rank correlation 1.000" in printed
    assert figure.read_bytes().startswith(PNG)


def test_late_labels_and_rewinds_of_an_active_run(tmp_path, capsys):
    """Lines of labels that came later stand at earlier steps; what a run says of its rewinds is counted and drawn."""
    path = tmp_path / "log.lammps"
    late = next(line for line in ACTIVE_LOG.splitlines() if "threshold" in line).replace("130", "1").replace("1.163", "later")
    rewind = "Fix dptrain: step 150: the temperature is 9999 K, and was 300 K; back to the state of step 131, rewind {} of 20\n"
    path.write_text(ACTIVE_LOG + "\n" + late + "\n" + rewind.format(1) + rewind.format(2).replace("150", "171"))
    assert plot.read_rewinds(path).tolist() == [150, 171]
    assert plot.main(["active", str(path), "-o", str(tmp_path / "a.png")]) == 0
    printed = capsys.readouterr().out
    assert "1 labels came while the run went on" in printed and "2 times the run went back to a trusted state" in printed


def test_active_run_without_thermo_columns(tmp_path):
    path = tmp_path / "log.lammps"
    path.write_text("\n".join(line for line in ACTIVE_LOG.splitlines() if line.startswith("dptrain")) + "\n")
    assert plot.read_course(path) == {}
    assert plot.main(["active", str(path), "-o", str(tmp_path / "a.png")]) == 0


@pytest.mark.parametrize("content, message", [
    ("Step Temp\n", "no events of fix dptrain"),
    ("dptrain step why true\n", "no event of fix dptrain ... mode active in it yet"),
    ("dptrain step why true\ndptrain x early 1\n", "not a number")])
def test_wrong_logs_of_active_runs(content, message, tmp_path, capsys):
    (tmp_path / "log.x").write_text(content)
    assert plot.main(["active", str(tmp_path / "log.x"), "-o", str(tmp_path / "a.png")]) == 1
    printed = capsys.readouterr().err
    assert message in printed and "log.x" in printed and len(printed.splitlines()) == 1
