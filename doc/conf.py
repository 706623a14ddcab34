"""The manual as HTML: tools/manual builds it from doc/src."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "utils"))

project = "USER-DPTRAIN"
author = "The USER-DPTRAIN developers"
release = version = re.search(r'^version = "(.*)"', (HERE.parent / "pyproject.toml").read_text(), re.MULTILINE).group(1)

# the formulas come with the manual, so that it can be read without a network
extensions = ["sphinx.ext.intersphinx", "sphinx.ext.mathjax", "sphinx-mathjax-offline", "myst_parser", "lammps_lexer", "lammps_pages"]
intersphinx_disabled_reftypes = []  # :doc: leads to pages of LAMMPS, too
lammps_pages = str(HERE / "lammps_pages.txt")
exclude_patterns = ["accel_styles.rst"]  # a part of other pages, LAMMPS' own in its tree
source_suffix = {".rst": "restructuredtext"}
highlight_language = "none"

html_theme = "sphinx_rtd_theme"
html_theme_options = {"style_nav_header_background": "#2980b9", "navigation_depth": 3}
html_title = f"{project} {release}"
html_static_path = ["static"]
html_css_files = ["dptrain.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False


def setup(app):
    """The pages are written as for LAMMPS' manual, where the next release takes the place of TBD."""
    def with_release(_, __, source):
        source[0] = source[0].replace("versionadded:: TBD", f"versionadded:: {release}")
    app.connect("source-read", with_release)
