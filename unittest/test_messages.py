"""Every error and warning tells what to do (tools/list_messages.py)."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from list_messages import all_messages, cpp_messages, has_advice, page, python_messages, without_advice  # noqa: E402


@pytest.fixture(scope="module")
def messages():
    return all_messages()


def test_all_messages_have_advice(messages):
    assert not without_advice(messages)


def test_many_are_found(messages):
    """Nine of ten statements that throw a text: the others throw what a function returns."""
    count = sum(path.read_text().count("throw Error(") for path in (ROOT / "lib/dptrain/src").rglob("*.cpp"))
    assert len([path for path, kind, _ in messages if path.startswith("lib/dptrain/") and kind == "error"]) > 0.9 * count
    for folder in ("src/USER-DPTRAIN/styles", "src/USER-DPTRAIN/plugin", "python/bindings", "python/dptrain"):
        assert any(path.startswith(folder) for path, _, _ in messages)
    assert {kind for _, kind, _ in messages} == {"error", "warning"}


@pytest.mark.parametrize("text", ["every 0 is not possible: use a number from 1", "the cutoff must be positive", "<path>: expected a number",
                                  "rcut is <rcut>, allowed are 2 to 12", "no model yet; train one", "<file>: <message>",
                                  "it is damaged<checkpoint advice>"])
def test_advice(text):
    assert has_advice(text)


@pytest.mark.parametrize("text", ["the file is damaged", "the socket is in use", "Fix dptrain: the name is unknown",
                                  "an error of 1 is expected, above it", "there are 3 atoms in the frame", "the only client is gone"])
def test_no_advice(text):
    """A name at the beginning is no verb."""
    assert not has_advice(text)


@pytest.mark.parametrize("code, found", [
    ('throw Error(fmt::format("found {}: give" /* or so */ " more", n_));', ("error", "found <n>: give more")),
    ('error->warning(FLERR, "{}: use the {1}", who, name_);', ("warning", "<who>: use the <name>")),
    ('error->all(FLERR, 3, fmt::format("use {:.3g} atoms", n));', ("error", "use <n> atoms")),
    ('throw Error(bad ? "too few: use more" : "too many: use less");', ("error", "(too few: use more | too many: use less)")),
    ('throw Error(fmt::format("{}{{}} is wrong: use {}", name, a ? "this one" : "that"));',
     ("error", "<name>{} is wrong: use (this one | that)")),
    ('throw Error(fmt::format("it is broken: {}", e.what()));', ("error", "it is broken: <reason>")),
    ('throw Error("no file " + path + ": give one");', ("error", "no file <path>: give one")),
])
def test_texts_of_statements(code, found):
    assert cpp_messages(f"void f() {{ {code} }}") == [found]


def test_text_that_a_function_completes():
    code = 'void fail(const std::string &what) { throw Error(fmt::format("{}; check the disk", what)); }\n'
    assert ("error", "the file is broken; <advice>") in cpp_messages(code + 'void f() { fail("the file is broken"); }')
    assert cpp_messages('// throw Error("of a comment");') == []


def test_texts_of_python():
    code = ('def f(path):\n    raise FileError(f"{path}: {len(rows)} rows: " + known)\n'
            'def g():\n    print(f"dptrain: warning: {x} is old: update it", file=sys.stderr)\n    print("all is well, as it is")\n')
    assert sorted(python_messages(code)) == [("error", "<path>: <rows> rows: <known>"), ("warning", "<x> is old: update it")]


def test_the_page_has_literals():
    text = page([("python/dptrain/a.py", "error", "a ``b`` |c|_ *d*: use e")])
    assert "**Error:** ``a ` `b` ` |c|_ *d*: use e``" in text and "python/dptrain/a.py" in text
