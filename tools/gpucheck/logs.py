"""What tests, sanitizers, profilers and LAMMPS print, as names and numbers."""

import csv
import re

TAIL = 3000  # characters of a log that are kept


def gtest(text, ended=True):
    """Names of GoogleTest's cases that passed, failed and were skipped; of several ranks, the first report counts, anywhere in
    a line, because their lines may mix. With `ended`, a case that has begun and not ended has taken the process with it, or
    hangs: it has failed."""
    found = {"passed": [], "failed": [], "skipped": []}
    keys = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
    for mark, name in re.findall(r"\[ +(OK|FAILED|SKIPPED) +\] ([\w/.]+)", text):
        if "." in name and name not in found[keys[mark]]:
            found[keys[mark]].append(name)
    found["passed"] = [n for n in found["passed"] if n not in found["failed"]]  # passed on another rank
    begun = re.findall(r"\[ RUN +\] ([\w/.]+)", text)
    if ended and begun and not any(begun[-1] in names for names in found.values()):
        found["failed"].append(begun[-1])
    return found


def pytest(text, ended=True):
    """The same of `pytest -v`, with errors of the set-up among the failed."""
    found = {"passed": [], "failed": [], "skipped": []}
    keys = {"PASSED": "passed", "FAILED": "failed", "ERROR": "failed", "SKIPPED": "skipped", "XFAIL": "skipped"}
    for name, mark in re.findall(r"^(\S+::.+?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL)\b", text, re.M):
        file, _, case = name.partition("::")
        short = f"{file.rpartition('/')[2]}::{case}"
        if short not in found[keys[mark]]:
            found[keys[mark]].append(short)
    return found


def pytest_ids(text):
    """What `pytest --collect-only -q` lists."""
    return re.findall(r"^(\S+::.+)$", text, re.M)


def end_of(text, size=TAIL):
    """The part of a log that tells what went wrong: first failures of GoogleTest or a sanitizer, then the end."""
    text = text.strip()
    marks = [m.start() for m in re.finditer(r"^.*(: Failure$|ERROR: |terminate called|========= (Invalid|Error|Race|Uninit))",
                                            text, re.M)]
    first = text[marks[0]:marks[0] + size // 2] if marks and marks[0] < len(text) - size else ""
    return (first + "\n[...]\n" if first else "") + text[-(size - len(first)):]


def lammps_loops(text):
    """The runs in a LAMMPS output: atoms, steps, and us per atom and step of the whole loop (`us_per_atom_step`) and, of the mean
    over the ranks in the table below it, of pair style and neighbor lists (`pair_us`, `neigh_us`)."""
    loops = []
    for part in re.split(r"^(?=Loop time of )", text, flags=re.M):
        found = re.match(r"Loop time of (\S+) on \d+ procs? for (\d+) steps with (\d+) atoms", part)
        if found is None or int(found[2]) == 0:
            continue
        seconds, steps, atoms = float(found[1]), int(found[2]), int(found[3])
        scale = 1e6 / (steps * atoms)
        rows = dict(re.findall(r"^(Pair|Neigh) *\|[^|\n]*\| *([\d.eE+-]+) *\|", part, re.M))
        loops.append({"atoms": atoms, "steps": steps, "us_per_atom_step": scale * seconds,
                      **{f"{row.lower()}_us": scale * float(mean) for row, mean in rows.items()}})
    return loops


def sanitizer(text):
    """Number of errors that compute-sanitizer has summed up (None without a summary), and the first lines of each kind."""
    sums = re.findall(r"^========= (?:ERROR|RACECHECK) SUMMARY: (\d+)", text, re.M)
    kinds = {}
    blocks = re.split(r"^=========\s*$", text, flags=re.M)
    for block in blocks:
        lines = [line[len("========= "):].strip() for line in block.splitlines() if line.startswith("========= ")]
        lines = [line for line in lines if "SUMMARY" not in line and not line.startswith("COMPUTE-SANITIZER")]
        if lines:
            kind = " | ".join(lines[:2])[:300]
            kinds[kind] = kinds.get(kind, 0) + 1
    return (sum(map(int, sums)) if sums else None), kinds


def kernel_name(text):
    """A readable name of a kernel: the function of this project that launches it (#2: its second lambda), which nvcc writes
    into the type of a lambda; else what is of this project in the name; else its first 100 characters."""
    text = text.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    tag = re.search(r"&\(?(?:void )?dptrain::([\w:]+(?:<[\w, ]*>)?).*?, (?:\(unsigned int\))?(\d+)u?>", text)
    if tag:
        return tag.group(1) + (f" #{tag.group(2)}" if tag.group(2) != "1" else "")
    own = re.findall(r"dptrain::([\w:]+(?:<[\w, :]*>)?)", text) or re.findall(r"void (kernels::\w+)", text)  # ncu leaves out namespaces
    return (max(own, key=len) if own else text)[:100]


def ncu_kernels(text):
    """{kernel: {metric: [values]}} of `ncu --csv`, in which each line is one metric of one launch."""
    lines = text.splitlines()
    start = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return {}
    kernels = {}
    for row in csv.DictReader(line for line in lines[start:] if line.startswith('"')):
        try:
            value = float((row.get("Metric Value") or "").replace(",", ""))
        except ValueError:
            continue
        metrics = kernels.setdefault(row.get("Kernel Name", ""), {})
        metrics.setdefault(row.get("Metric Name", ""), []).append(value)
    return kernels
