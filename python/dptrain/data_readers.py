"""Which reader reads a file: by the format that is named, else by its name and its first lines."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from dptrain.data_abinit import read_abinit
from dptrain.data_codes import open_text, read_aims, read_pw
from dptrain.data_cp2k import read_cp2k
from dptrain.data_frames import ReadError
from dptrain.data_tables import read_ase, read_deepmd, read_dpdata, read_extxyz, read_mlip, read_n2p2, read_pacemaker
from dptrain.data_vasp import read_outcar, read_vasprun

HEAD = 30000  # characters that tell a format


@dataclass
class Format:
    """read(path, options) yields frames; needs: a package without which it cannot; end: what the last lines of a complete file have."""

    name: str
    read: Callable
    needs: str | None = None
    end: str | None = None


FORMATS = {form.name: form for form in (
    Format("outcar", read_outcar, None, "General timing and accounting"),
    Format("vasprun", read_vasprun, "ase", "</modeling>"),
    Format("pw", read_pw, "ase", "JOB DONE"),
    Format("cp2k", read_cp2k, None, "PROGRAM ENDED AT"),
    Format("abinit", read_abinit, None, "Overall time at end"),
    Format("aims", read_aims, "ase", "Have a nice day"),
    Format("extxyz", read_extxyz, "ase"),
    Format("n2p2", read_n2p2),
    Format("mlip", read_mlip),
    Format("pacemaker", read_pacemaker, "ase"),
    Format("deepmd", read_deepmd, "dpdata"),
)}
# what the first lines say
MARKS = (("Program PWSCF", "pw"), ("CP2K|", "cp2k"), ("of ABINIT", "abinit"), ("Invoking FHI-aims", "aims"), ("BEGIN_CFG", "mlip"),
         ("<modeling>", "vasprun"))
ENDINGS = {".xyz": "extxyz", ".extxyz": "extxyz", ".pckl": "pacemaker", ".pkl": "pacemaker", ".hdf5": "dpdata:deepmd/hdf5",
           ".h5": "dpdata:deepmd/hdf5", ".db": "ase", ".json": "ase", ".traj": "ase"}


def named(name):
    """The format of --format. Raises ReadError if there is none."""
    kind, _, rest = name.partition(":")
    if name in FORMATS:
        return FORMATS[name]
    if kind == "ase":
        return Format(name, lambda path, options: read_ase(path, options, rest or None), "ase")
    if kind == "dpdata" and rest:
        return Format(name, lambda path, options: read_dpdata(path, options, rest), "dpdata")
    raise ReadError(f"there is no format {name}: use one of {', '.join(FORMATS)}, ase:NAME or dpdata:NAME with a name of ASE's or dpdata's formats")


def guess(path):
    """Name of the format of a file or folder. Raises ReadError if nothing tells it."""
    path = Path(path)
    if path.is_dir():
        if any("type.raw" in files for _, _, files in os.walk(path)):
            return "deepmd"
        raise ReadError(f"{path} is a folder without type.raw: give the output file of the code in it, or name the format with --format dpdata:NAME")
    plain = path.with_suffix("") if path.suffix in (".gz", ".gzip", ".bz2", ".xz") else path
    if path.name.endswith("-pos-1.xyz"):
        return "cp2k"
    if plain.name == "MOVEMENT":
        return "dpdata:pwmat/movement"
    if plain.suffix in ENDINGS:
        return ENDINGS[plain.suffix]
    with open_text(path) as file:
        head = file.read(HEAD)
    found = next((name for mark, name in MARKS if mark in head), None)
    first = head.lstrip().partition("\n")[0].strip()
    if found:
        return found
    if first.startswith("vasp.") or "OUTCAR" in plain.name:
        return "outcar"
    if first.lower() == "begin":
        return "n2p2"
    second = head.lstrip().split("\n")[1:2]
    if first.isdigit() and second and "=" in second[0]:
        return "extxyz"
    return "ase"


def find_format(path, given=None):
    """The format of a file. Raises ReadError if it is not there or what reads it is missing."""
    if not Path(path).exists():
        raise ReadError(f"there is no {path}: check the name")
    form = named(given or guess(path))
    if form.needs:
        try:
            __import__(form.needs)
        except ImportError as error:
            raise ReadError(f"{form.needs} reads {path}, and is missing: install it with pip install {form.needs}") from error
    return form


def is_complete(path, form):
    """False if the last lines lack what ends a complete file."""
    if form.end is None or str(path).endswith("-pos-1.xyz"):
        return True
    with open_text(path) as file:
        if type(file.buffer).__name__ == "BufferedReader":
            file.buffer.seek(max(0, os.path.getsize(path) - HEAD))
        return form.end in file.read()
