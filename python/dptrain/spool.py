"""The folder of ``fix dptrain reference spool``: a folder for each request, answers, and claims of processes that work on them.

The layout is that of doc/src/dptrain_label.rst and lib/dptrain/src/labels/spool_folder.h. Several machines may look at it over a
network: a file is there when it is in the list of its folder, and files appear by renaming.
"""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path

DESCRIPTION, FORMAT, VERSION = "spool.json", "dptrain spool", 1
REQUEST, ANSWER, FAILURE, CLAIM = "request.xyz", "answer.xyz", "failed.txt", "claim"
BAD = ANSWER + ".bad"  # and a number: what the fix could not use
WITHOUT_OWNER = 60.0  # seconds after which a claim that says nothing is one of a process that has died over it


class SpoolError(Exception):
    """The folder cannot be used; the text says why and what to do."""


class Spool:
    """The folder `path`; `exists` until which it may not be there."""

    def __init__(self, path):
        self.path = Path(path).absolute()

    def exists(self):
        """Whether the fix has made it. Raises SpoolError where the folder is something else."""
        file = self.path / DESCRIPTION
        try:
            # first: the description is what the fix writes first, so that who finds anything finds it
            if not self.path.is_dir() or all(name.startswith(".") for name in os.listdir(self.path)):
                return False
            text = file.read_text()
        except FileNotFoundError:
            raise SpoolError(f"the folder {self.path} is no spool: there is no {DESCRIPTION} in it. Use the folder of 'reference "
                             "spool'") from None
        except OSError as error:
            raise SpoolError(f"{file} cannot be read: {error.strerror}; check its permissions") from error
        try:
            found = json.loads(text)
            known = found["format"] == FORMAT and isinstance(found["version"], int)
        except (ValueError, TypeError, KeyError):
            known = False
        if not known:
            raise SpoolError(f"{file} does not describe a spool of dptrain: use the folder of 'reference spool'")
        if found["version"] > VERSION:
            raise SpoolError(f"the spool {self.path} has format version {found['version']}, this program knows {VERSION}: update it")
        return True

    def names(self):
        """Of the folders of requests, in the order of the steps. Raises SpoolError."""
        try:
            return sorted(name for name in os.listdir(self.path) if not name.startswith(".") and name != DESCRIPTION)
        except OSError as error:
            raise SpoolError(f"the folder {self.path} cannot be listed: {error.strerror}; check its permissions") from error

    def files(self, name):
        """Names of the files of a request; none where it is not there (any more)."""
        try:
            return set(os.listdir(self.path / name))
        except OSError:
            return set()

    def open_again(self):
        """Requests that have failed, or whose answers the fix could not use, are as new ones; returns how many."""
        count = 0
        for name in self.names():
            files = self.files(name)
            settled = {file for file in files if file == FAILURE or file.startswith(BAD)}
            if ANSWER in files or not settled:
                continue
            count += 1
            for file in settled:
                os.replace(self.path / name / file, self.path / name / file.replace("failed", "failed.old").replace(".bad", ".old"))
        return count


def is_settled(files):
    """Whether there is nothing to do for a request: it has an answer, or has failed, or an answer could not be used."""
    return ANSWER in files or FAILURE in files or any(file.startswith(BAD) for file in files)


def write(path, text):
    """Writes a file that is there at once and as a whole."""
    temporary = path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}.tmp")
    try:
        with open(temporary, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_text(path):
    """Of a file; empty where it cannot be read."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def start_of(pid):
    """When a process was started, in ticks since the boot; None where it is no more. Linux."""
    fields = read_text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return int(fields[19]) if len(fields) > 19 and fields[0] not in "ZX" else None


def this_process():
    """What tells this process from all others, for a claim."""
    try:
        space = os.readlink("/proc/self/ns/pid")  # a container has process ids of its own
    except OSError:
        space = ""
    return {"host": socket.gethostname(), "boot": read_text("/proc/sys/kernel/random/boot_id"), "space": space, "pid": os.getpid(),
            "started": start_of(os.getpid())}


def is_dead(owner):
    """Whether the process of a claim is known to be no more: only those of this machine are known."""
    here = this_process()
    if owner.get("host") != here["host"]:
        return False
    if owner.get("boot") != here["boot"]:
        return True
    return owner.get("space") == here["space"] and start_of(owner.get("pid")) != owner.get("started")


class Claim:
    """The right to work on the request in a folder. To make a file that must not be there before is safe on all file systems,
    NFS among them (version 3 or newer).

    retake: seconds after which claims of other machines count no more; None: never.
    """

    def __init__(self, folder, retake=None):
        self.folder, self.path, self.retake = folder, folder / CLAIM, retake

    def take(self):
        """The number of this attempt: 1, or more where processes have died over the request. 0 where another process has it, or
        the request is gone."""
        attempt = 1
        try:
            if self.path.name in os.listdir(self.folder):
                attempt = self._take_away()
            if attempt == 0:
                return 0
            text = json.dumps({**this_process(), "time": time.strftime("%Y-%m-%d %H:%M:%S"), "attempt": attempt})
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except (FileExistsError, FileNotFoundError):
            return 0
        try:
            os.write(descriptor, text.encode() + b"\n")
        finally:
            os.close(descriptor)
        return attempt

    def release(self):
        """Gives the right back, if this process has it."""
        owner = self._owner(read_text(self.path))
        here = this_process()
        if all(owner.get(key) == value for key, value in here.items()):
            self.path.unlink(missing_ok=True)

    def _take_away(self):
        """Removes the claim of a process that is no more; returns the number of the next attempt, 0 where the claim holds."""
        text = read_text(self.path)
        owner, age = self._owner(text), time.time() - self.path.stat().st_mtime
        late = self.retake is not None and age > self.retake
        if not (late or (is_dead(owner) if owner else age > WITHOUT_OWNER)):
            return 0
        mine = self.folder / f".{CLAIM}.{socket.gethostname()}.{os.getpid()}.old"
        os.rename(self.path, mine)
        if read_text(mine) != text:  # another process was quicker, and this is its claim
            os.rename(mine, self.path)
            return 0
        mine.unlink()
        return owner.get("attempt", 1) + 1

    @staticmethod
    def _owner(text):
        try:
            owner = json.loads(text)
        except ValueError:
            return {}
        return owner if isinstance(owner, dict) else {}
