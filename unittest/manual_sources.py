"""What the tests of the manual read: its pages, and the texts that the program prints."""

import csv
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "doc" / "src"
LITERAL = r'"((?:[^"\\\n]|\\.)*)"'


def page(name):
    """The text of a page."""
    return (PAGES / f"{name}.rst").read_text(encoding="ascii")


def source(name):
    """The text of a file of the package or of the library."""
    return (ROOT / name).read_text(encoding="utf-8")


def literals():
    """All strings of the C++ and Python sources, one a line; those that stand one behind the other are one, and one with values in it
    (`{}`) is what stands between them."""
    found = []
    for folder, pattern in (("src", "*.[ch]*"), ("lib", "*.[ch]*"), ("python/dptrain", "*.py")):
        for file in sorted((ROOT / folder).rglob(pattern)):
            for match in re.finditer(rf"{LITERAL}(?:\s*f?{LITERAL})*", file.read_text(encoding="utf-8")):
                text = "".join(re.findall(LITERAL, match.group(0))).replace('\\"', '"')
                found += [text, *re.split(r"\{[^{}]*\}", text)]
    return "\n".join(found)


def printed(message, texts, shortest=8):
    """Whether the program prints this message: three dots stand for names and numbers. What is between them must be a part of one of
    the strings in `texts`, or the end of one, others, and the beginning of another one."""
    parts = [part.strip(" ,:;.()'") for part in re.sub(r"\s+", " ", message).split("...")]
    return any(len(part) >= shortest for part in parts) and all(is_made_of(part, texts) for part in parts)


def is_made_of(part, texts, start=""):
    """Whether `part` stands in `texts`, behind `start`, as a whole or in pieces that end where a string ends."""
    if start + part in texts:
        return True
    return any(start + part[:n] + "\n" in texts and is_made_of(part[n:], texts, "\n") for n in range(len(part) - 1, 2, -1))


def table_rows(text):
    """Cells of all list-tables in the text, row by row, each with its lines joined."""
    rows = []
    for line in text.splitlines():
        if match := re.match(r" +\* - ?(.*)", line):
            rows.append([match.group(1)])
        elif rows and (match := re.match(r" +- (.*)", line)):
            rows[-1].append(match.group(1))
        elif rows and rows[-1] and line.startswith("       "):
            rows[-1][-1] += " " + line.strip()
        elif line.strip() and not line.startswith(" "):
            rows.append([])  # the table has ended
    return [row for row in rows if row]


def csv_rows(text):
    """Rows of all csv-tables in the text, without their heads."""
    rows = []
    for body in re.findall(r"^\.\. csv-table::.*\n(?:   :.*\n)+\n((?:   .*\n)+)", text, re.MULTILINE):
        rows += csv.reader(body.splitlines(keepends=True), skipinitialspace=True)
    return [[re.sub(r"\s+", " ", cell).strip() for cell in row] for row in rows]
