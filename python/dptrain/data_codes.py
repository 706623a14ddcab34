"""Outputs of Quantum ESPRESSO and FHI-aims: ASE reads them, and here is what it does not tell: which steps have converged, and where a file
was cut off."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import warnings
from pathlib import Path

from dptrain.data_frames import CutOff, ReadError, frame_of

OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def open_text(path):
    """A text file, packed or not."""
    return OPENERS.get(Path(path).suffix, open)(path, "rt", encoding="utf-8", errors="replace")


def complete_lines(path):
    """Lines of an output. The last one is left out where its end is missing: its last number may be a part of one."""
    with open_text(path) as file:
        for line in file:
            if line.endswith("\n"):
                yield line


# ---------------------------------------------------------------- Quantum ESPRESSO

CONFIGURATIONS, ENERGY, LAST_ENERGY = ("Program PWSCF", "ATOMIC_POSITIONS"), "!    total energy", "!!   total energy"
BANDS = ("End of self-consistent calculation", "End of band structure calculation", "number of k points=")
RESULTS = ("Forces acting on atoms", "total   stress", "Magnetic moment per site")
NOT_CONVERGED = ("convergence NOT achieved", "convergence has NOT been achieved")


def read_pw(path, options):
    """Frames of an output of pw.x: energies are those of the lines with !, which contain -TS."""
    lines = list(complete_lines(path))
    starts = [k for k, line in enumerate(lines) if any(mark in line for mark in CONFIGURATIONS)]
    if not starts:
        raise ReadError(f"{path} has no line 'Program PWSCF': give an output of pw.x from its beginning")
    threshold = None if any(line.startswith(LAST_ENERGY) for line in lines) else scf_threshold(lines)
    flags = [mark_energies(lines, begin, end, threshold) for begin, end in zip(starts, [*starts[1:], len(lines)])]
    problem = None
    try:
        found = read_pw_lines(lines)
    except Exception as error:  # ASE's parser raises what it likes where a frame is not complete
        problem = error
        try:
            found = read_pw_lines(lines[:starts[-1]])
        except Exception:
            raise ReadError(f"{path}: {type(problem).__name__}: {problem}. Give a complete output of pw.x") from problem
    flags = [flag for flag in flags if flag is not None]
    for atoms, converged in zip(found, flags):
        frame = frame_of(atoms)
        frame.converged = converged
        yield frame
    if problem:
        raise CutOff(f"{type(problem).__name__}: {problem}")


def scf_threshold(lines):
    """conv_thr in Ry, or None."""
    found = next((line for line in lines if re.match(r"\s*(scf )?convergence threshold\s*=", line)), None)
    return float(found.split("=")[1].split()[0]) if found else None


def mark_energies(lines, begin, end, threshold):
    """Leaves one line with ! in a configuration: the last one, or where the loop has not converged the last energy without !; and none
    that announces bands, in which ASE's parser stumbles where a run has stopped.

    Returns whether it has converged; None where there are no results. With scf_must_converge = .false. the output says of each step that it
    has, and only the accuracy behind the energy tells: it is above the threshold, which a relaxation lowers but never raises."""
    converged, marked, plain = True, [], None
    for k in range(begin, end):
        line = lines[k]
        if line.startswith(LAST_ENERGY):
            lines[k] = line.replace(LAST_ENERGY, ENERGY)
        if lines[k].startswith(ENERGY):
            marked.append(k)
        elif line.startswith("     total energy  "):
            plain = k
        elif any(mark in line for mark in NOT_CONVERGED):
            converged = False
        elif any(mark in line for mark in BANDS):
            lines[k] = "\n"
    for k in marked[:-1]:
        lines[k] = "\n"
    accuracy = re.match(r"\s*estimated scf accuracy\s*<\s*(\S+)", lines[marked[-1] + 1]) if marked and marked[-1] + 1 < end else None
    if accuracy and threshold is not None and float(accuracy[1]) > threshold:
        converged = False
    if not marked and plain is not None and not converged:
        lines[plain] = ENERGY + lines[plain][len(ENERGY):]
        marked.append(plain)
    has_results = marked or any(mark in line for line in lines[begin:end] for mark in RESULTS)
    return converged if has_results else None


def read_pw_lines(lines):
    from ase.io.espresso import read_espresso_out

    return list(read_espresso_out(io.StringIO("".join(lines)), slice(None)))


# ---------------------------------------------------------------- FHI-aims

def read_aims(path, options):
    """Frames of an output of FHI-aims: energies are 'Electronic free energy'."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # ASE will move this reader to a package of its own
        from ase.io.aims import get_aims_out_chunks, get_header_chunk

        with open_text(path) as file:
            chunks = list(get_aims_out_chunks(file, get_header_chunk(file)))
        for chunk in chunks:
            if not any("Electronic free energy" in line for line in chunk.lines):
                continue  # what follows the last step
            frame = frame_of(chunk.atoms)
            frame.converged = any("Self-consistency cycle converged." in line for line in chunk.lines)
            yield frame
