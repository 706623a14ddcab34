"""Model files from one format to another.

This package alone writes a .dp file from a checkpoint, from another .dp file, from a .pth of descriptor se_e2_a or from a
nep.txt of GPUMD, a .pth where the model comes from one, and a .txt where its descriptor is nep. All other formats are DeePMD-kit's, and its command `dp convert-backend` does the work
where it is installed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from dptrain.launcher import Run, find_program

# ends of names of model files: this package's and DeePMD-kit's
OWN_ENDINGS = (".dp", ".pth", ".txt")
ENDINGS = (".dp", ".txt", ".yaml", ".yml", ".pth", ".pt", ".pt2", ".pte", ".pb", ".savedmodeltf", ".hlo", ".jax", ".savedmodel", ".pd")


class ConvertError(Exception):
    """The conversion failed; the text says why and what to do."""


def first_bytes(path, number):
    """Of a file; nothing of a folder (a .savedmodel). Raises ConvertError if there is no such file."""
    try:
        with open(path, "rb") as file:
            return file.read(number)
    except IsADirectoryError:
        return b""
    except OSError as error:
        raise ConvertError(f"cannot read {path}: {error.strerror}; check the name and its permissions") from None


def is_hdf5(path):
    """True for a .dp file and for a checkpoint, whatever their names."""
    return first_bytes(path, 8) == b"\x89HDF\r\n\x1a\n"


def is_nep(path):
    """True for a potential of GPUMD, a nep.txt, whatever its name."""
    return re.match(rb"\s*nep\d", first_bytes(path, 200)) is not None


def write_own(source, target):
    """The model of a .dp, a checkpoint, a .pth or a nep.txt as a .dp, .pth or .txt, by the LAMMPS command, whose last line is returned."""
    messages, out = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(messages):
        status = Run(["convert", str(source), str(target)], out=out).run()
    messages = messages.getvalue().strip()
    if status != 0 and not messages:
        raise ConvertError(f"{source}: the conversion was ended; start it again")
    if status != 0:
        raise ConvertError(messages.removeprefix("dptrain: error: "))
    if messages:
        print(messages, file=sys.stderr)
    return next((line.strip() for line in reversed(out.getvalue().splitlines()) if line.startswith("wrote ")), f"wrote {target}")


def find_dp(given):
    """Words that start DeePMD-kit's dp."""
    words = [given] if given else find_program("dp", "DPTRAIN_DEEPMD")
    if not words or not shutil.which(words[0]):
        where = f"{given} is not a program" if given else "dp is neither in the environment of this script nor on the PATH"
        raise ConvertError(f"this conversion is DeePMD-kit's, and {where}. Install it (pip install 'deepmd-kit[torch]' for .pth, "
                           "'deepmd-kit[cpu]' for .pb, 'deepmd-kit[jax]' for .hlo and .savedmodel), or name its program with "
                           "--dp PATH. pair_style dptrain needs no conversion: it reads .dp and .pth files")
    return words


def convert_backend(words, source, target, origin=None):
    """Runs `dp convert-backend`. origin: the user's file, of which `source` is a copy that will be gone."""
    command = [*words, "convert-backend", str(source), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={"CUDA_VISIBLE_DEVICES": "", **os.environ})
    if done.returncode != 0 or not Path(target).exists():
        last = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()][-1:]
        checkpoint = origin and Path(origin).suffix != ".dp"
        command[-2] = "model.dp" if checkpoint else str(origin or source)
        before = f"dptrain convert {shlex.quote(str(origin))} model.dp, then " if checkpoint else ""
        backend = "; .pth is of its PyTorch backend, for that of TensorFlow convert to .pb" if "named 'torch'" in " ".join(last) else ""
        raise ConvertError(f"DeePMD-kit cannot convert {origin or source} to {target}: {' '.join(last) or 'no message'}{backend}\n"
                           f"To see all that it says, run {before}{shlex.join(command)}")


def why_unusable(path):
    """Why pair_style dptrain cannot use a .dp file; None if it can, or where the Python module is not there to ask."""
    try:
        from dptrain.potential import Error, Potential
    except ImportError:
        return None
    try:
        Potential(path)
    except Error as error:
        return str(error)
    return None


def foreign_part(path):
    """What of a .dp file DeePMD-kit does not have; None where it has all, or the Python module is not there to ask, or cannot read
    the file."""
    try:
        from dptrain.potential import Error, Potential
    except ImportError:
        return None
    try:
        info = Potential(path).info
    except Error:
        return None
    if info.get("in_deepmd", True):
        return None
    parts = [name for name in ("baseline", "terms") if name in info]
    return f"the {' and '.join(parts)} of this model" if parts else f"the descriptor {info['descriptor']}"


def complete_source(name):
    """The file that is meant: `model.ckpt` stands for `model.ckpt.dp` where there is no file `model.ckpt`."""
    return f"{name}.dp" if not os.path.exists(name) and os.path.exists(f"{name}.dp") else name


def holds_training(path):
    """True if the file is a checkpoint; where the Python module is not there to ask, if its name is that of one."""
    if not os.path.isfile(path) or not is_hdf5(path):
        return False
    try:
        from dptrain.potential import Error, is_checkpoint
    except ImportError:
        return ".ckpt" in Path(path).name
    try:
        return is_checkpoint(path)
    except Error:
        return False  # damaged


def check_names(source, target):
    """Raises ConvertError for a source that is no model by its name, and for a target that must not be written."""
    known = f"known are {' '.join(ENDINGS)}"
    if not Path(target).suffix:
        raise ConvertError(f"{target}: the end of the name tells the format: {known}")
    if Path(target).suffix not in ENDINGS:
        raise ConvertError(f"{target}: there is no format {Path(target).suffix}: {known}")
    if not is_hdf5(source) and not is_nep(source) and (Path(source).suffix not in ENDINGS or Path(source).suffix == ".txt"):
        raise ConvertError(f"{source} is not a model: neither a checkpoint or .dp file, nor of another known format by its end ({known})")
    if os.path.exists(target) and os.path.samefile(source, target):
        raise ConvertError(f"{source} and {target} are the same file: choose another name for the file to write")
    if holds_training(target):
        raise ConvertError(f"{target} is a checkpoint, which would be lost: choose another name for the file to write")
    if Path(target).suffix == ".txt" and os.path.exists(target):
        raise ConvertError(f"{target} exists, and may be the potential that all began with: choose another name for the file to write")


def convert(source, target, dp=None):
    """Writes the model in `source` to `target`, in the format that the end of its name tells."""
    source = complete_source(source)
    check_names(source, target)
    if Path(target).parent != Path() and not Path(target).parent.is_dir():
        raise ConvertError(f"{target}: there is no folder {Path(target).parent}: make it, or choose another place")
    native, to_dp = is_hdf5(source), Path(target).suffix == ".dp"
    of_gpumd = is_nep(source) or Path(target).suffix == ".txt"
    foreign = foreign_part(source) if native and not to_dp and not of_gpumd else None
    if foreign:
        raise ConvertError(f"{source}: DeePMD-kit does not have {foreign}, so that none of its tools and formats "
                           "(.pth, .pb, ...) can hold this model. pair_style dptrain and, in Python, dptrain.load and "
                           "dptrain.ase.Calculator run the .dp file: use that")
    known = (native or of_gpumd or Path(source).suffix in OWN_ENDINGS) and Path(target).suffix in OWN_ENDINGS
    if of_gpumd and not known:
        raise ConvertError(f"{source}: no other format than .dp and .txt has potentials of GPUMD: give TO one of these ends")
    try:
        if not known:
            raise ConvertError("")
        write_own(source, target)
    except ConvertError as error:
        if known and (of_gpumd or native and to_dp):
            raise
        with_deepmd(source, target, native, dp, str(error))
    print(f"wrote {target}{lost_part(source) if Path(target).suffix == '.txt' else ''}")


def lost_part(source):
    """What a file of GPUMD does not keep of a model, for a message."""
    try:
        from dptrain.potential import Potential
    except ImportError:
        return ""
    return ", without error bars, which .dp files have" if Potential(source).info["error_bars"] else ""


def with_deepmd(source, target, native, dp, reason):
    """The same by DeePMD-kit; `reason` says why this package cannot, or is empty."""
    try:
        words = find_dp(dp)
    except ConvertError as missing:
        raise ConvertError(f"{reason}\n{missing}" if reason else str(missing)) from None
    if not native:
        convert_backend(words, source, target)
        unusable = why_unusable(target) if Path(target).suffix == ".dp" else None
        if unusable:
            print(f"dptrain: warning: {target} is written, but pair_style dptrain cannot use it: {unusable}. "
                  "Use pair_style deepmd", file=sys.stderr)
        return
    # DeePMD-kit tells formats by names, and a checkpoint may have any
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "model.dp"
        if Path(source).suffix == ".dp":
            shutil.copyfile(source, plain)
        else:
            write_own(source, plain)
        convert_backend(words, plain, target, source)
