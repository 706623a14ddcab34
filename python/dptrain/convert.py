"""`dptrain convert`: a model file to another format, or labeled configurations of other programs to a data set."""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from pathlib import Path

from dptrain.arguments import positive
from dptrain.convert_data import WRITERS, Options, convert_data
from dptrain.convert_model import ENDINGS, ConvertError, complete_source, convert, is_hdf5, is_nep, write_own
from dptrain.data_frames import WEIGHT, Names, ReadError
from dptrain.launcher import LaunchError

DESCRIPTION = """Writes a model file in another format, or labeled configurations of other programs as a data set.

Models, done by this package, in one process: from a checkpoint or .dp file to .dp; from a .pth whose model is of DeePMD-kit's
type se_e2_a with energies to .dp; from a checkpoint whose model comes from a .pth, or from a .pth, to .pth.
All else (.pth of models that come from no .pth, .pb of TensorFlow, .hlo and .savedmodel of JAX, .yaml, ...), from and to:
done by DeePMD-kit's `dp convert-backend`, which must be installed with the backend of that format: in the environment of
this script, on the PATH, or where --dp tells. A file of such a format becomes usable in pair_style dptrain as .pth, or as
.dp if its model is of type se_e2_a with energies.
There is no step that compresses a model: the embedding net is read from a table always.

Data, from outputs of VASP (OUTCAR, vasprun.xml), Quantum ESPRESSO, CP2K, ABINIT and FHI-aims, extended XYZ with any names of
labels, databases and trajectories of ASE, data sets of n2p2, MLIP, GPUMD, pacemaker and DeePMD-kit, and what else ASE or dpdata
read, and the labels of a run (FILE.frames): to extended XYZ (TO.xyz, TO.extxyz), to a folder in DeePMD-kit's npy format (TO without
an ending), or to TO.frames, with which a run can begin (resume)."""

EPILOG = """examples:
  dptrain convert model.ckpt model.dp     the model of a checkpoint
  dptrain convert model.ckpt tuned.pth    of a training that began with a .pth
  dptrain convert se_e2_a.pth model.dp    the native model in a .pth
  dptrain convert model.dp model.pth      for pair_style deepmd and DeePMD-kit's Python
  dptrain convert OUTCAR data.xyz         the steps of a run of VASP
  dptrain convert run*/pw.out silica      several runs into one folder, a system for each composition
  dptrain convert input.data train.xyz --units metal --every 5"""

FACTORS = ("energy", "forces", "virial")


LABELS = ".frames"  # end of the file with the labels of a run


def parser():
    made = argparse.ArgumentParser(prog="dptrain convert", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("source", metavar="FROM", nargs="+", help="model file or checkpoint; or files of data")
    made.add_argument("target", metavar="TO", help="file to write; its end tells the format. Data: without an end a folder")
    made.add_argument("--dp", metavar="PATH", help="DeePMD-kit's program dp (default: DPTRAIN_DEEPMD, this environment, PATH)")
    data = made.add_argument_group("data")
    data.add_argument("--format", metavar="NAME", help="of FROM: outcar, vasprun, pw, cp2k, abinit, aims, extxyz, n2p2, mlip, pacemaker, deepmd, "
                                                       "ase:NAME or dpdata:NAME (default: by the name and the first lines)")
    data.add_argument("--every", type=positive(int), metavar="K", default=1, help="write every K-th of the good frames, from the first on")
    data.add_argument("--elements", nargs="+", metavar="EL", help="elements of the types 0, 1, ... of MLIP; order of type_map.raw in a folder")
    data.add_argument("--units", choices=("metal", "atomic"), help="of n2p2's input.data: eV and Angstrom, or Hartree and Bohr (default)")
    for name, what in (("energy", "energy, eV"), ("forces", "forces, eV/Angstrom"), ("virial", "virial, eV"),
                       ("stress", "stress, eV/Angstrom^3, positive under tension")):
        data.add_argument(f"--{name}-key", metavar="KEY", help=f"name of the {what}, in extended XYZ, pacemaker and databases of ASE")
    for name in FACTORS:
        data.add_argument(f"--{name}-factor", type=number, metavar="F", help=f"multiply {'energies' if name == 'energy' else name} by F")
    data.add_argument("--unconverged", action="store_true", help="keep frames whose electronic structure has not converged")
    data.add_argument("--partial", action="store_true", help="keep frames that have an energy or forces alone")
    return made


def number(text):
    value = float(text)
    if not abs(value) < float("inf") or value == 0.0:
        raise ValueError
    return value


number.__name__ = "number other than zero"


def is_model(source, target):
    """Whether FROM TO is a conversion of a model: TO tells it by its end, else FROM. Raises ConvertError if there is no FROM."""
    if Path(target).suffix in ENDINGS:
        return True
    if Path(target).suffix in WRITERS and Path(target).suffix:
        return False
    source = complete_source(source)
    # any other .txt may be an output of a code
    return is_nep(source) or Path(source).suffix in ENDINGS and Path(source).suffix != ".txt" or (is_hdf5(source) and Path(source).suffix not in (".hdf5", ".h5"))


def data_options(options):
    factors = {name: getattr(options, f"{name}_factor") for name in FACTORS if getattr(options, f"{name}_factor") is not None}
    names = Names(options.energy_key, options.forces_key, options.virial_key, options.stress_key)
    return Options(options.format, options.every, options.elements, options.units, names, factors, options.unconverged, options.partial)


def holds_labels(path):
    """Whether the file has the labels of a run, FILE.frames."""
    try:
        with open(path, "rb") as file:
            return file.read(8) == b"DPFRAMES"
    except OSError:
        return False


def has_weights(path):
    """Whether a file of extended XYZ has cut-outs, with the weights of their forces, in its first frames."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return WEIGHT in file.read(65536)
    except OSError:
        return False


def convert_labels(options):
    """From FILE.frames, or to one: LAMMPS' own command writes extended XYZ, folders and FILE.frames; other formats go through extended XYZ."""
    own = [holds_labels(source) for source in options.source]
    to_labels = Path(options.target).suffix == LABELS
    if len(own) == 1 and (own[0] or has_weights(options.source[0])) and data_options(options) == Options():
        print(write_own(options.source[0], options.target))
        return
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for number, (source, is_own) in enumerate(zip(options.source, own)):
            sources.append(Path(folder) / f"{number}.xyz" if is_own else source)
            if is_own:
                write_own(source, sources[-1])
        target = Path(folder) / "all.xyz" if to_labels else options.target
        with contextlib.redirect_stdout(io.StringIO()) if to_labels else contextlib.nullcontext() as said:
            convert_data(sources, target, data_options(options))
        if to_labels:
            print("".join(line for line in said.getvalue().splitlines(True) if str(target) not in line), end="")
            print(write_own(target, options.target))


def work(options):
    if Path(options.target).suffix == LABELS or (Path(options.target).suffix not in ENDINGS and any(map(holds_labels, options.source))):
        convert_labels(options)
        return
    if not is_model(options.source[0], options.target):
        convert_data(options.source, options.target, data_options(options))
        return
    if len(options.source) > 1:
        raise ConvertError(f"{options.target} is a model file, and {len(options.source)} files are given for it: give one")
    if data_options(options) != Options():
        raise ConvertError(f"{options.target} is a model file: leave the options for data out, --dp alone is for models")
    convert(options.source[0], options.target, options.dp)


def main(arguments=None):
    """Command line. Returns the exit status."""
    options = parser().parse_intermixed_args(arguments)
    try:
        work(options)
    except (ConvertError, ReadError, LaunchError) as error:
        print(f"dptrain: error: {error}", file=sys.stderr)
        return 1
    return 0
