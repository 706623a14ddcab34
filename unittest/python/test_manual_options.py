"""The tables of keywords in the manual are made from the program's table of options."""

import sys

import pytest
from real_script import ROOT, dptrain

sys.path.insert(0, str(ROOT / "doc" / "utils"))
from option_tables import PAGE, with_tables  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiled_module")


def test_the_page_has_what_the_script_writes():
    """If not: python doc/utils/option_tables.py."""
    text = PAGE.read_text(encoding="ascii")
    rows = dptrain.potential._dptrain.option_rows()
    assert len(rows) > 40
    assert with_tables(text, rows) == text
    assert with_tables(text, [*rows, ["files", "**more** N", "0", "", "another one"]]) != text


def test_what_python_takes_is_on_its_page():
    text = (PAGE.parent / "dptrain_python.rst").read_text(encoding="ascii")
    listed = next(line for line in text.splitlines() if line.startswith("   * - every, train, ")).removeprefix("   * - ").split(", ")
    assert sorted(listed) == sorted(set(dptrain.potential._dptrain.session_options()) - {"mode", "follow"})
