#!/usr/bin/env python3
"""Checks the rules of the house on the sources: sizes, includes, characters, format.

Usage: tools/check_style.py [--format | --fix]   prints one line per violation, exit status 1 if there is any.
``--format`` also checks all C++ files with clang-format 14, ``--fix`` formats them first.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 100
MAX_COLUMNS = 100  # as in LAMMPS
CPP = {".h", ".cpp"}
TEXT = CPP | {".py", ".md", ".cmake", ".txt", ".toml", ".json", ".sh", ".in"}

# the library does not know LAMMPS, and each dependency has its own folder
INCLUDE_RULES = [
    # what is included            where it may be                                      message
    (r"mpi\.h", r"^lib/dptrain/(src|include/dptrain)/parallel/|^src/|^unittest/|^bench/", "MPI outside parallel"),
    (r"Kokkos_\w+\.hpp", r"^lib/dptrain/src/(kernels|neighbor)/|^unittest/|^bench/",
     "Kokkos outside kernels and neighbor"),
    (r"(torch|ATen|c10)/.*", r"^lib/dptrain/src/(base|statistics|potential|optimizer|training|uncertainty)/|^unittest/|^bench/",
     "LibTorch where there is no dense algebra"),
    (r"(pair|fix|compute|atom|comm|error|force|lammps|lmptype|memory|modify|neigh_list|neighbor|pointers|update|utils"
     r"|domain|library)\.h", r"^src/USER-DPTRAIN/", "LAMMPS header outside src/USER-DPTRAIN"),
]

# Folders from the ground up: each uses only those that stand before it. Those of the library are the same in src and in
# include/dptrain.
LAYERS = ["base", "io", "kernels", "parallel", "input", "neighbor", "frames", "statistics", "potential/model",
          "potential/nets", "potential/descriptor", "potential/terms", "potential/native", "potential/torchscript", "potential/files", "data",
          "statistics/data", "optimizer", "training/loss", "training", "uncertainty", "models", "checkpoint", "labels", "session",
          "session/requests", "session/recovery", "session/learning", "session/asking", "session/run", "commands"]
PACKAGE_LAYERS = ["adapter", "nested", "reference", "styles", "kokkos", "plugin"]
TREES = {"lib/dptrain/src/": LAYERS, "lib/dptrain/include/dptrain/": LAYERS, "src/USER-DPTRAIN/": PACKAGE_LAYERS}


def tracked_files():
    """Files that git knows or would add, relative to the root."""
    out = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                         capture_output=True, text=True, check=True).stdout
    return [Path(line) for line in out.splitlines() if (ROOT / line).is_file()]


def check_includes(path, lines):
    """Includes with quotes of the library's own headers (with a folder in the name) are always allowed."""
    for number, line in enumerate(lines, 1):
        match = re.match(r'\s*#\s*include\s+[<"]([^>"]+)[>"]', line)
        if not match:
            continue
        for what, where, message in INCLUDE_RULES:
            if re.fullmatch(what, match.group(1)) and not re.search(where, path.as_posix()):
                yield f"{path}:{number}: {message}: {match.group(1)}"


def check_layers(path, lines):
    """Files include only files of their own folder and of those below."""
    name = path.as_posix()
    root = next((root for root in TREES if name.startswith(root)), None)
    if not root:
        return
    layers = TREES[root]

    def layer_of(file):
        folder = file.rpartition("/")[0]
        return layers.index(folder) if folder in layers else None

    own = layer_of(name[len(root):])
    if own is None:
        yield f"{path}: in none of the folders of {root}, which tools/check_style.py lists"
        return
    for number, line in enumerate(lines, 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        included = match.group(1) if match else ""
        if layers is PACKAGE_LAYERS and (included.startswith(("dptrain/", "fmt/")) or "/" not in included):
            continue  # the library, or LAMMPS
        other = layer_of(included.removeprefix("dptrain/"))
        if match and other is None:
            yield f"{path}:{number}: {included} is in none of the folders of {root}"
        elif match and other > own:
            yield f"{path}:{number}: {layers[own]} must not include {included}, which stands above it"


def check_functions(path, lines):
    """A function is a block whose closing brace stands where its opening line begins; nested blocks do not count."""
    start = None
    for number, line in enumerate(lines, 1):
        if re.match(r"( {0,2})\{$", line) or re.match(r" {0,1}[A-Za-z_].*\)( const| override| noexcept)*\s*\{$", line):
            start = (number, len(line) - len(line.lstrip()))
        elif start and re.match(r" {%d}\}" % start[1], line):
            if number - start[0] > MAX_FUNCTION_LINES:
                yield f"{path}:{start[0]}: function of {number - start[0]} lines, at most {MAX_FUNCTION_LINES} allowed"
            start = None


def check_text(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if not line.isascii():
            yield f"{path}:{number}: character that is not ASCII: {line.strip()[:60]!a}"
        if line != line.rstrip():
            yield f"{path}:{number}: blanks at the end of the line"


def check_file(path):
    text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    yield from check_text(path, text)
    if path.suffix not in CPP and path.suffix != ".py":
        return
    if len(lines) > MAX_FILE_LINES:
        yield f"{path}: {len(lines)} lines, at most {MAX_FILE_LINES} allowed"
    if path.suffix in CPP:
        yield from check_includes(path, lines)
        yield from check_layers(path, lines)
        yield from check_functions(path, lines)
    if path.suffix in CPP and path.as_posix().startswith("src/USER-DPTRAIN/"):
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_COLUMNS:
                yield f"{path}:{number}: {len(line)} columns, at most {MAX_COLUMNS} allowed in sources for LAMMPS"
    if path.suffix in CPP and path.as_posix().startswith("src/USER-DPTRAIN/") and "General Public License" not in "".join(lines[:5]):
        yield f"{path}: has no header with the license: copy it from another file of the folder"


def clang_format_14():
    """True if the clang-format on the PATH has version 14; another one formats differently and is not used."""
    try:
        version = subprocess.run(["clang-format", "--version"], capture_output=True, text=True, check=True).stdout
    except OSError:
        version = ""
    if "version 14." not in version:
        print(f"check_style: clang-format 14 not found ({version.strip() or 'none'}): format not checked")
    return "version 14." in version


def check_format(files):
    if not clang_format_14():
        return []
    out = subprocess.run(["clang-format", "--dry-run", *map(str, files)], cwd=ROOT, capture_output=True, text=True)
    broken = sorted({line.split(":")[0] for line in out.stderr.splitlines() if "-Wclang-format-violations" in line})
    return [f"{name}: not formatted: clang-format -i {name}" for name in broken]


def violations(with_format=False):
    """All violations as a list of texts."""
    found = []
    files = tracked_files()
    for path in files:
        # reference data and LAMMPS' own log files are not ours to format
        if path.suffix in TEXT and "reference" not in path.parts:
            found += check_file(path)
    if with_format:
        found += check_format([f for f in files if f.suffix in CPP])
    return found


if __name__ == "__main__":
    if "--fix" in sys.argv[1:] and clang_format_14():
        subprocess.run(["clang-format", "-i", *(str(f) for f in tracked_files() if f.suffix in CPP)], cwd=ROOT, check=True)
    found = violations(bool({"--format", "--fix"} & set(sys.argv[1:])))
    print("\n".join(found) if found else "check_style: no violations")
    sys.exit(1 if found else 0)
