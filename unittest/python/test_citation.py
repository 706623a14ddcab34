"""CITATION.cff: what the format (version 1.2.0) requires, and agreement with the project's version, license and manual."""

import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[2]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
PROJECT = (ROOT / "pyproject.toml").read_text()


def test_required_keys():
    assert CITATION["cff-version"] == "1.2.0" and CITATION["type"] == "software"
    for key in ("message", "title", "authors"):
        assert CITATION[key], key


def test_it_is_this_version_under_this_license():
    assert f'\nversion = "{CITATION["version"]}"\n' in PROJECT
    assert f'text = "{CITATION["license"]}"' in PROJECT


def test_authors_are_entities_or_persons():
    for work in [CITATION, *CITATION["references"]]:
        assert all({"name"} <= set(author) or {"family-names", "given-names"} <= set(author) for author in work["authors"]), work["title"]


def test_references_are_complete():
    for work in CITATION["references"]:
        assert {"type", "title", "authors", "year", "notes"} <= set(work), work
        assert "journal" in work or "collection-title" in work or work["url"].startswith("https://arxiv.org/abs/"), work["title"]
        for identifier in work.get("identifiers", []):
            assert work["url"].endswith(identifier["value"].removeprefix("arXiv:"))


def test_papers_of_the_manual_are_there():
    """Each arXiv number that a page of the manual cites."""
    cited = {number for page in (ROOT / "doc" / "src").glob("*.rst") for number in re.findall(r"arXiv:?\s+(\d{4}\.\d{5})", page.read_text())}
    listed = {identifier["value"] for work in CITATION["references"] for identifier in work.get("identifiers", [])}
    assert len(cited) > 2 and {f"arXiv:{number}" for number in cited} <= listed
