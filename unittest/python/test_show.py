"""`dptrain show`: what a model is and what its maker says of it."""

import shutil
from pathlib import Path

from dptrain import cli
from dptrain.potential import find_model

POTENTIALS = Path(__file__).resolve().parents[2] / "potentials"


def test_facts_and_notes(capsys):
    assert cli.main(["show", str(POTENTIALS / "NiAl.jea.dp")]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == [str(POTENTIALS / "NiAl.jea.dp")]
    facts = {line[0]: line[1:] for line in lines[1:]}
    assert facts["elements"] == ["Ni", "Al"] and facts["rcut"] == ["6", "Angstrom"] and facts["descriptor"] == ["power_spectrum"]
    assert "walls" in facts and "min_distance" not in facts  # two smallest distances, of all frames and of the first ones, would puzzle
    assert facts["license"][0] == "GPL-2.0-only" and float(facts["force_rmse_eV_per_Angstrom"][0]) > 0
    assert lines.index(["info"]) < lines.index(["frames"]) < lines.index(["test_errors"])


def test_a_file_that_is_no_model(tmp_path, capsys):
    assert cli.main(["show", str(tmp_path / "missing.dp")]) == 1
    assert "missing.dp" in capsys.readouterr().err


def test_names_are_found(tmp_path, monkeypatch):
    """In the current folder first, then in the folders of LAMMPS_POTENTIALS; a path stays as it is."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    shutil.copy(POTENTIALS / "Si.mlearn.dp", tmp_path / "b" / "mine.dp")
    monkeypatch.chdir(tmp_path / "a")
    monkeypatch.setenv("LAMMPS_POTENTIALS", f"{tmp_path / 'none'}:{tmp_path / 'b'}")
    assert find_model("mine.dp") == str(tmp_path / "b" / "mine.dp")
    shutil.copy(POTENTIALS / "Ge.mlearn.dp", "mine.dp")
    assert find_model("mine.dp") == "mine.dp" and find_model("mine") == "mine"
    assert find_model("other.dp") == "other.dp"
