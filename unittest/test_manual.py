"""The manual (doc/src) builds without a warning, and its links lead somewhere."""

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from manual_sources import PAGES, ROOT

# hosts that the manual may lead to
HOSTS = {"docs.lammps.org", "ase-lib.org", "ipi-code.org"}


class Page(HTMLParser):
    """Anchors and links of a page."""

    def __init__(self, file):
        super().__init__()
        self.anchors, self.links = set(), set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        self.links.update(values[name] for name in ("href", "src") if values.get(name))


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    """Folder of the built manual; warnings are errors."""
    if importlib.util.find_spec("sphinx") is None:
        pytest.skip("Sphinx is not installed: tools/manual installs it")
    folder = tmp_path_factory.mktemp("manual") / "html"
    done = subprocess.run([ROOT / "tools" / "manual", folder], env={**os.environ, "DPTRAIN_VENV": sys.prefix}, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"manual: {folder}/index.html" in done.stdout
    return folder


@pytest.fixture(scope="module")
def pages(html):
    return {file.name: Page(file) for file in html.glob("*.html")}


def test_links_inside_the_manual_resolve(html, pages):
    broken = []
    for name, page in pages.items():
        for link in page.links:
            target = urlsplit(link)
            if target.scheme or target.netloc:
                continue
            file = unquote(target.path) or name
            if not (html / file).is_file():
                broken.append(f"{name}: no file {link}")
            elif target.fragment and file in pages and target.fragment not in pages[file].anchors:
                broken.append(f"{name}: no anchor {link}")
    assert not broken, "\n".join(sorted(broken))


def test_links_out_of_the_manual_are_known(pages):
    strange = {f"{name}: {link}" for name, page in pages.items() for link in page.links
               if urlsplit(link).netloc and (urlsplit(link).scheme != "https" or urlsplit(link).hostname not in HOSTS)}
    assert not strange, "\n".join(sorted(strange))


def test_every_page_is_in_the_navigation(html, pages):
    missing = [file.name for file in PAGES.glob("*.rst")
               if file.stem not in ("index", "accel_styles") and f"{file.stem}.html" not in pages["index.html"].links]
    assert not missing


def test_lammps_pages_lead_to_its_manual(pages):
    assert "https://docs.lammps.org/pair_modify.html" in pages["fix_dptrain.html"].links


def test_the_list_of_lammps_pages_has_all_that_are_named():
    own = {file.stem for file in PAGES.glob("*.rst")}
    listed = {line.split()[0] for line in (ROOT / "doc" / "lammps_pages.txt").read_text().splitlines()[1:]}
    named = {name for file in PAGES.glob("*.rst")
             for name in re.findall(r":doc:`(?:[^`<]*<)?([^`<>]+)>?`", file.read_text(encoding="ascii"))}
    assert named and not named - own - listed
    assert own & listed <= {"accel_styles"}  # the text that pages include has a short one of ours


def test_lammps_input_is_colored(html):
    text = (html / "fix_dptrain.html").read_text(encoding="utf-8")
    assert '<span class="k">fix</span> <span class="nv">learn</span>' in text.replace('<span class="w"> </span>', " ")


def test_the_manual_needs_no_network(html):
    loaded = [f"{file.name}: {address}" for file in html.glob("*.html") for address in
              re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="((?:https?:)?//[^"]*)"', file.read_text(encoding="utf-8"))]
    assert not loaded
    assert (html / "_static" / "mathjax" / "tex-chtml.js").is_file()
    assert "_static/mathjax/tex-chtml.js" in (html / "Howto_dptrain_active.html").read_text(encoding="utf-8")


def test_every_example_has_a_picture(pages):
    folders = {file.parent.name for file in (ROOT / "examples").glob("*/README.md")}
    text = (PAGES / "Examples_dptrain.rst").read_text(encoding="ascii")
    shown = set(re.findall(r"cd examples/(\w+)", text))
    assert len(folders) > 10 and shown == folders
    assert len(re.findall(r"\.\. image:: img/", text)) == len(folders)


def test_pictures_are_small_and_shown(pages):
    pictures = list((PAGES / "img").glob("*"))
    assert not [picture.name for picture in pictures if picture.stat().st_size > (120000 if picture.stem == "demo" else 60000)]
    shown = {Path(link).name for page in pages.values() for link in page.links if "_images/" in link}
    assert {picture.name for picture in pictures} == shown


def test_pictures_are_drawn_from_the_logs_of_the_examples(tmp_path):
    pytest.importorskip("matplotlib")
    done = subprocess.run([sys.executable, ROOT / "doc" / "utils" / "make_figures.py", "-o", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    drawn = {file.name: file.stat().st_size for file in tmp_path.iterdir()}
    shown = set(re.findall(r"image:: img/(\S+)", (PAGES / "Examples_dptrain.rst").read_text(encoding="ascii")))
    assert shown - {"demo.png"} <= set(drawn) <= {picture.name for picture in (PAGES / "img").glob("*")}
    assert all(1000 < size < 60000 for size in drawn.values())
