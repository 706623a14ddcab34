"""tools/release, but for what it compiles: versions, changelog, source archive, refusals, and what it leaves in the checkout."""

import datetime
import importlib.machinery
import importlib.util
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("release", str(ROOT / "tools" / "release"))
release = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
loader.exec_module(release)
FILES = {"pyproject.toml": '[project]\nversion = "0.1.0"\nrequires = "cmake>=3.20"\n', "python/dptrain/__init__.py": '__version__ = "0.1.0"\n',
         "CMakeLists.txt": "cmake_minimum_required(VERSION 3.20)\nproject(USER-DPTRAIN VERSION 0.1.0 LANGUAGES C CXX\n",
         "CITATION.cff": "cff-version: 1.2.0\nversion: 0.1.0\n",
         "CHANGELOG.md": "# Changelog\n\n## Unreleased\n\n* All is new.\n\n## 0.1.0\n\nFirst version.\n"}
TODAY = datetime.date(2026, 11, 3)


def git(folder, *words):
    done = subprocess.run(["git", "-c", "user.name=Test", "-c", "user.email=test@test.test", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A small repository in which tools/release works."""
    folder = tmp_path / "checkout"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / ".gitignore").write_text("/dist/\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "Begin")
    for name, value in (("AUTHOR", "Test"), ("COMMITTER", "Test")):
        monkeypatch.setenv(f"GIT_{name}_NAME", value)
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "test@test.test")
    monkeypatch.setattr(release, "ROOT", folder)
    monkeypatch.setattr(release, "make", lambda root, version, folder, venv: None)
    return folder


def texts(folder):
    return {name: (folder / name).read_text() for name in FILES}


def test_versions_of_this_repository():
    """One line of each file changes, by the version."""
    for name, (before, after) in release.planned(ROOT, "97.8.9", TODAY).items():
        lines = [pair for pair in zip(before.splitlines(), after.splitlines(), strict=True) if pair[0] != pair[1]]
        assert len(lines) == 1 and "97.8.9" in lines[0][1], name
        if name in release.VERSIONS:
            assert lines[0][0] == lines[0][1].replace("97.8.9", release.version_in(name, before))


@pytest.mark.parametrize("changelog, text", [
    ("# Changelog\n\n## 0.1.0\n\nFirst.\n", "does not begin with a section"), ("# Changelog\n\n## Unreleased\n\n## 0.1.0\n", "is empty"),
    ("# Changelog\n\n## 0.1.0\n\nFirst.\n\n## Unreleased\n\n* New.\n", "does not begin with a section")])
def test_changelogs_without_news(changelog, text):
    with pytest.raises(release.ReleaseError, match=text):
        release.with_release(changelog, "0.2.0", TODAY)


def other_version(checkout):
    (checkout / "CITATION.cff").write_text("version: 0.1.1\n")
    git(checkout, "commit", "-q", "-am", "Other version")


@pytest.mark.parametrize("version, before, texts", [
    ("0.2", None, ["'0.2' is no version"]), ("v0.2.0", None, ["is no version"]), ("0.2.0rc1", None, ["is no version"]),
    ("0.1.0", None, ["0.1.0 is not later than 0.1.0"]), ("0.0.9", None, ["is not later than"]),
    ("0.2.0", other_version, ["different versions", "pyproject.toml 0.1.0", "CITATION.cff 0.1.1"]),
    ("0.2.0", lambda folder: (folder / "CHANGELOG.md").write_text("changed"), ["not committed", "CHANGELOG.md"]),
    ("0.2.0", lambda folder: (folder / "new file").write_text("changed"), ["not committed", "new file"]),
    ("0.2.0", lambda folder: git(folder, "tag", "v0.2.0"), ["there is a tag v0.2.0 already"])])
def test_what_is_refused(version, before, texts, checkout, capsys):
    if before:
        before(checkout)
    assert release.main([version, "--dry-run"]) == 1
    message = capsys.readouterr().err
    assert all(text in message for text in texts)


def test_dry_run_shows_and_changes_nothing(checkout, capsys):
    assert release.main(["0.2.0", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert '-version = "0.1.0"\n' in out and '+version = "0.2.0"\n' in out and "+## 0.2.0, " in out and "First version" not in out
    assert texts(checkout) == FILES and not (checkout / "dist").exists()


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("words", [[], ["--commit"]])
def test_what_stays_in_the_checkout(words, fails, checkout, monkeypatch, capsys):
    """With --commit, where all goes well, a commit and a tag; else nothing."""
    seen = []

    def make(root, version, folder, venv):
        seen.append(texts(root)["pyproject.toml"])
        if fails:
            raise release.ReleaseError("the wheel is not good")

    monkeypatch.setattr(release, "make", make)
    assert release.main(["0.2.0", *words]) == int(fails)
    assert '"0.2.0"' in seen[0] and ("the wheel is not good" in capsys.readouterr().err) == fails
    assert git(checkout, "status", "--porcelain") == ""
    if words and not fails:
        assert git(checkout, "describe", "--tags") == "v0.2.0" and git(checkout, "log", "-1", "--format=%s") == "Version 0.2.0"
        assert all("0.2.0" in text and "Unreleased" not in text for text in texts(checkout).values())
        assert re.match(r"# Changelog\n\n## 0\.2\.0, \d+ \w{3} \d{4}\n\n\* All is new\.\n\n## 0\.1\.0\n\nFirst version\.\n$", texts(checkout)["CHANGELOG.md"])
    else:
        assert git(checkout, "tag") == "" and texts(checkout) == FILES


def test_source_archive(checkout, tmp_path):
    """Has all files as they are now, or is refused."""
    (checkout / "pyproject.toml").write_text('version = "0.2.0"\n')
    path = release.make_source_archive(checkout, "0.2.0", tmp_path)
    with tarfile.open(path) as archive:
        assert {*FILES, ".gitignore"} == {name.removeprefix("dptrain-0.2.0/") for name in archive.getnames()} - {"dptrain-0.2.0", "python", "python/dptrain"}
        assert archive.extractfile("dptrain-0.2.0/pyproject.toml").read() == b'version = "0.2.0"\n'
    assert git(checkout, "stash", "list") == ""
    (checkout / ".gitattributes").write_text("CITATION.cff export-ignore\n")
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "Attributes")
    with pytest.raises(release.ReleaseError, match=r"lacks 1 files: CITATION.cff"):
        release.make_source_archive(checkout, "0.2.0", tmp_path)


def test_packages_are_linked_but_for_this_one(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        (folder / "lib/python3.11/site-packages").mkdir(parents=True)
        (folder / "bin").mkdir()
    for name in ("torch", "dptrain", "dptrain-0.1.0.dist-info"):
        (old / "lib/python3.11/site-packages" / name).mkdir()
    (old / "lib/libmpi.so.12").touch()
    (old / "bin/mpiexec").touch()
    release.link_packages(old, new)
    assert {path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_symlink()} == {
        "lib/python3.11/site-packages/torch", "lib/libmpi.so.12", "bin/mpiexec"}
