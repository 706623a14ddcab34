"""Every error and warning tells what to do, and is in the manual (tools/list_messages.py)."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import list_messages  # noqa: E402
from messages.advice import has_advice  # noqa: E402
from messages.cpp import Program  # noqa: E402
from messages.page import anchors, literal, merged, page  # noqa: E402
from messages.python_sources import python_messages  # noqa: E402
from messages.tokens import read_source  # noqa: E402


@pytest.fixture(scope="module")
def messages():
    return list_messages.all_messages()


def texts_of(code, header=""):
    """(kind, text) of the messages of a C++ file, which includes another one."""
    sources = [read_source("lib/own.h", header), read_source("lib/own.cpp", '#include "own.h"\n' + code)]
    return [(kind, list_messages.with_brackets(text)) for _, kind, text in Program(sources).messages()]


def test_all_messages_have_advice(messages):
    assert not list_messages.without_advice(messages)


def test_the_page_is_up_to_date(messages):
    assert list_messages.PAGE.read_text() == page(messages), "run tools/list_messages.py"


def test_many_are_found(messages):
    """As many as there are statements that throw a text, or more: some get their text from several places."""
    count = sum(path.read_text().count("throw Error(") for path in (ROOT / "lib/dptrain/src").rglob("*.cpp"))
    assert len([path for path, kind, _ in messages if path.startswith("lib/dptrain/") and kind == "error"]) > count
    for folder in ("src/USER-DPTRAIN/styles", "src/USER-DPTRAIN/plugin", "python/bindings", "python/dptrain"):
        assert any(path.startswith(folder) for path, _, _ in messages)
    assert {kind for _, kind, _ in messages} == {"error", "warning"}


def test_anchors_are_unique(messages):
    names = anchors(merged(messages))
    assert len(names) == len(set(names)) and all(name.replace("-", "").isalnum() for name in names)
    assert anchors([(0, "no file: give one", "error"), (0, "no file <name>: give one", "error")]) == [
        "dptrain-error-no-file-give-one", "dptrain-error-no-file-give-one-2"]


@pytest.mark.parametrize("text", ["every 0 is not possible: use a number from 1", "the cutoff must be positive", "<path>: expected a number",
                                  "rcut is <rcut>, allowed are 2 to 12", "no model yet; train one", "<file>: <message>"])
def test_advice(text):
    assert has_advice(text)


@pytest.mark.parametrize("text", ["the file is damaged", "the socket is in use", "Fix dptrain: the name is unknown", "an error of 1 is expected, above it",
                                  "<path>: <reason>", "there are 3 atoms in the frame", "the only client is gone", "the file is damaged\1; copy it again\4", "it is \2wrong; remove it\3broken\4"])
def test_no_advice(text):
    """A name at the beginning is no verb, and advice in a part that may be missing does not count."""
    assert not has_advice(text)


def test_texts_of_statements():
    assert texts_of('void f(int n) { throw Error("found " + std::to_string(n) + ": give" /* or so */ " more"); }') == [
        ("error", "found <n>: give more")]
    assert texts_of('void f() { error->warning(FLERR, "{}: use the {1}", who, name_); }') == [("warning", "<who>: use the <name>")]
    assert texts_of('void f() { error->all(FLERR, 3, fmt::format("use {} atoms", n)); }') == [("error", "use <n> atoms")]
    assert texts_of('void f() { messages_.warning(formatted("%d of %.3g: use more", a, b)); }') == [("warning", "<a> of <b>: use more")]
    assert texts_of('void f() { say("WARNING: no energies: add " + what); }') == [("warning", "no energies: add <what>")]
    assert texts_of('void f() { throw Error(bad ? "too few: use more" : "too many: use less"); }') == [
        ("error", "(too few: use more | too many: use less)")]
    assert texts_of('void f() { throw Error("no file" + (hint ? "; use this one" : "")); }') == [("error", "no file[; use this one]")]
    assert texts_of('// throw Error("of a comment");') == []


def test_texts_from_several_places():
    assert texts_of('[[noreturn]] void fail(const std::string &what) { throw Error("x.json: " + what); }\n'
                    'void f() { if (a) fail("a is missing: add it"); }') == [("error", "x.json: a is missing: add it")]
    assert texts_of('void f() { const std::string advice = "; remove it"; throw Error("b is damaged" + advice); }') == [
        ("error", "b is damaged; remove it")]
    assert texts_of('void f() { std::ostringstream text; text << "c is " << c << ": use d"; throw Error(text.str()); }') == [
        ("error", "c is <c>: use d")]
    assert texts_of('void f() { throw damaged("the file"); }', 'inline Error damaged(const std::string &what) { return Error(what + " is bad"); }'
                    ) == [("error", "the file is bad")]
    for caught, shown in (("Error", "<message>"), ("std::exception", "<reason>"), ("c10::Error", "<reason>")):
        code = f'void f() {{ try {{ g(); }} catch (const {caught} &e) {{ throw Error("it is broken: " + e.what()); }} }}'
        assert texts_of(code) == [("error", f"it is broken: {shown}")]


def test_texts_of_python():
    code = ('def f(path):\n    known = "use one of " + names\n    raise FileError(f"{path}: {len(rows)} rows: {known}")\n'
            'def g():\n    print(f"dptrain: warning: {x} is old: update it", file=sys.stderr)\n    print("all is well, as it is")\n')
    assert sorted(python_messages("a.py", code)) == [
        ("a.py", "error", "<path>: <number> rows: <known>"), ("a.py", "warning", "<x> is old: update it")]


def test_texts_are_literals_of_rst():
    assert literal("a ``b`` |c|_ *d*") == "``a ` `b` ` |c|_ *d*``"


def test_check_tells_what_is_wrong(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(list_messages, "PAGE", tmp_path / "page.rst")
    monkeypatch.setattr(list_messages, "ROOT", tmp_path)
    monkeypatch.setattr(list_messages, "all_messages", lambda: [("python/dptrain/x.py", "error", "it is broken")])
    assert list_messages.main(["--check"]) == 1 and not (tmp_path / "page.rst").exists()
    said = capsys.readouterr().out
    assert "no advice in: it is broken" in said and "page.rst is not up to date" in said
    monkeypatch.setattr(list_messages, "all_messages", lambda: [("python/dptrain/x.py", "error", "it is broken: repair it")])
    assert list_messages.main([]) == 0 and list_messages.main(["--check"]) == 0
