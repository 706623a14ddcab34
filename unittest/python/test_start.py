"""What the lmp of the wheel is given before it starts."""

import os
import subprocess
import sys
from pathlib import Path

from dptrain import start


def test_defaults(monkeypatch):
    """Potentials of LAMMPS are found, waiting ranks offer their cores; what the user has set stays."""
    monkeypatch.setattr(os, "environ", {name: value for name, value in os.environ.items() if name not in ("LAMMPS_POTENTIALS", *start.PATIENT)})
    folder = start.plugins()
    assert Path(folder).name == "dptrain"
    assert (Path(os.environ["LAMMPS_POTENTIALS"]) / "Si.sw").exists()
    assert {name: os.environ[name] for name in start.PATIENT} == start.PATIENT
    os.environ = {"LAMMPS_POTENTIALS": "/mine", "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "0"}
    start.plugins()
    assert os.environ["LAMMPS_POTENTIALS"] == "/mine" and os.environ["MPIR_CVAR_CH4_PROGRESS_THROTTLE"] == "0"
    assert "MPIR_CVAR_ENABLE_HEAVY_YIELD" not in os.environ


def test_entry_point(tmp_path):
    """The lmp of the environment finds Si.sw without any variable."""
    (tmp_path / "in.sw").write_text("units metal\nlattice diamond 5.431\nregion box block 0 1 0 1 0 1\ncreate_box 1 box\ncreate_atoms 1 box\n"
                                    "mass 1 28.0855\npair_style sw\npair_coeff * * Si.sw Si\nrun 0\n")
    variables = {name: value for name, value in os.environ.items() if name != "LAMMPS_POTENTIALS"}
    subprocess.run([Path(sys.prefix) / "bin/lmp", "-in", "in.sw", "-log", "none"], cwd=tmp_path, env=variables, check=True, capture_output=True)
