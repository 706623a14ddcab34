"""Writes the tables of keywords in doc/src/fix_dptrain.rst from the program's table of options; needs the installed package.

    python doc/utils/option_tables.py
"""

import re
import sys
import textwrap
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "src" / "fix_dptrain.rst"
WIDTH = 140


def cell(text):
    return f'"{text}"' if text else ""


def table(rows):
    """Lines of a csv-table: keyword, default, unit, meaning."""
    lines = []
    for row in rows:
        text = ", ".join([cell(row[0]), *(cell(value) for value in row[1:])])
        lines += textwrap.wrap(text, WIDTH, initial_indent="   ", subsequent_indent="   ")
    return "\n".join(lines) + "\n"


def with_tables(text, rows):
    """The text of the page with these rows: (section, keyword, default, unit, meaning)."""
    for section in dict.fromkeys(row[0] for row in rows):
        start = rf"(:ref:`details <fix_dptrain_{section}>`\)\n\n\.\. csv-table::\n(?:   :.*\n)+\n)"
        text, found = re.subn(rf"{start}(?:   .*\n)+", lambda match: match.group(1) + table(row[1:] for row in rows if row[0] == section), text)
        if found != 1:
            sys.exit(f"{PAGE}: {found} tables of the section {section}; there must be one")
    return text


if __name__ == "__main__":
    from dptrain.potential import _dptrain

    PAGE.write_text(with_tables(PAGE.read_text(encoding="ascii"), _dptrain.option_rows()), encoding="ascii")
