"""What a reader must know about the machine and the sources to judge the numbers."""

import hashlib
import os
import platform
import re
import subprocess
from datetime import datetime, timezone
from pathlib import Path

from .settings import ROOT


def first_match(path, pattern):
    try:
        found = re.search(pattern, Path(path).read_text(), re.M)
    except OSError:
        return ""
    return found.group(1).strip() if found else ""


def hardware():
    """Processor, cores, memory, operating system, GPU."""
    flags = first_match("/proc/cpuinfo", r"^flags\s*:(.*)$").split()
    memory = first_match("/proc/meminfo", r"^MemTotal:\s*(\d+) kB")
    try:
        gpu = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True,
                             text=True).stdout.strip()
    except OSError:
        gpu = ""
    return {"processor": first_match("/proc/cpuinfo", r"^model name\s*:(.*)$") or platform.processor(),
            "cores": len(os.sched_getaffinity(0)), "memory_gib": round(int(memory or 0) / 2**20, 1),
            "vector_extensions": [f for f in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if f in flags],
            "gpu": gpu or "none", "system": first_match("/etc/os-release", r'^PRETTY_NAME="(.*)"')}


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def sources():
    """Commit of this checkout, how many files differ from it, and a hash of what is measured and what measures; results
    of the benchmark itself do not count."""
    changed = git("status", "--porcelain", "--", ".", ":!bench/results").splitlines()
    return {"commit": git("rev-parse", "HEAD"), "changed_files": len(changed), "hash": sources_hash(ROOT)}


def sources_hash(root):
    """Of the names and contents of all files in lib, src and bench, but for results, logs and what Python makes."""
    total = hashlib.sha256()
    skipped = [root / "bench" / "results", root / "bench" / "work"]
    for folder in ("lib", "src", "bench"):
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and not any(s in path.parents for s in skipped):
                total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()[:16]


def file_hash(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16] if path and Path(path).exists() else ""


def load_average():
    """Of the last minute: more than the benchmark's own processes means that others used the machine."""
    return round(os.getloadavg()[0], 2)


def now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
