"""Runs a command with its output in a log, and shows how far it is in one line."""

import os
import selectors
import subprocess
import sys
import time

QUIET_SECONDS = 20.0  # between two lines where no terminal can rewrite one


class Failure(Exception):
    """A step that did not succeed; the text says why and what to do."""


def duration(seconds):
    """Minutes and seconds as 3:07."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Progress:
    """The line of one step: rewritten on a terminal, a new one now and then elsewhere."""

    def __init__(self, title, stream=sys.stdout):
        self.title = title
        self.stream = stream
        self.start = time.monotonic()
        self.shown = 0.0
        self.terminal = stream.isatty()
        self.write(f"{title} ...")

    def elapsed(self):
        return time.monotonic() - self.start

    def write(self, text, end=False):
        self.shown = time.monotonic()
        text = f"install: {text}"
        if self.terminal:
            width = max(20, os.get_terminal_size(self.stream.fileno()).columns - 1)
            self.stream.write(f"\r{text[:width]:{width}}" + ("\n" if end else ""))
        else:
            self.stream.write(text + "\n")
        self.stream.flush()

    def update(self, text):
        """Shows `text`, where that is not too often."""
        if time.monotonic() - self.shown > (0.2 if self.terminal else QUIET_SECONDS):
            self.write(f"{self.title}: {text}{', ' if text else ''}{duration(self.elapsed())}")

    def done(self, text="done"):
        self.write(f"{self.title}: {text} in {duration(self.elapsed())}", end=True)

    def failed(self):
        self.write(f"{self.title}: not done after {duration(self.elapsed())}", end=True)


def run(words, log, progress, read=lambda line: None, text=lambda: "", env=None):
    """Runs the command; returns its exit status and its output.

    Output goes to the file `log`, and line by line to `read`; `text()` is what the progress shows.
    """
    found = []
    with open(log, "a", encoding="utf-8") as file:
        file.write("$ " + " ".join(map(str, words)) + "\n")
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace",
                              env=env) as process, selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            os.set_blocking(process.stdout.fileno(), False)
            rest = ""
            while True:
                if ready.select(timeout=0.5):
                    piece = process.stdout.read()
                    if piece == "":
                        break
                    *lines, rest = (rest + (piece or "")).split("\n")
                    for line in lines:
                        found.append(line)
                        file.write(line + "\n")
                        read(line)
                    file.flush()
                progress.update(text())
            process.wait()
    return process.returncode, "\n".join([*found, rest])
