"""Links to pages of LAMMPS' manual (:doc:`pair_modify <pair_modify>`) without a network: doc/lammps_pages.txt lists its pages.

Sphinx loads this file as an extension. As a program it makes the list anew from the sources of LAMMPS:

    python doc/utils/lammps_pages.py FOLDER_OF_LAMMPS >doc/lammps_pages.txt
"""

import re
import sys
import zlib
from pathlib import Path

ADDRESS = "https://docs.lammps.org/"


def pages_of_sources(folder):
    """Name and title of each page in the folder doc/src of LAMMPS."""
    for file in sorted(Path(folder).glob("*.rst")):
        title = re.search(r"^(\S.*)\n([=*^~\"-])\2{2,}\s*$", file.read_text(encoding="utf-8"), re.MULTILINE)
        yield file.stem, title.group(1).strip() if title else file.stem


def read_pages(file):
    """The list as a dict: name of a page, its title."""
    lines = [line for line in Path(file).read_text(encoding="ascii").splitlines() if not line.startswith("#")]
    return dict(line.split(maxsplit=1) for line in lines)


def write_inventory(pages, file):
    """The list as an inventory of Sphinx, version 2."""
    entries = "".join(f"{name} std:doc -1 {name}.html {title}\n" for name, title in pages.items())
    head = "# Sphinx inventory version 2\n# Project: LAMMPS\n# Version: \n# The remainder of this file is compressed using zlib.\n"
    Path(file).write_bytes(head.encode() + zlib.compress(entries.encode()))


def use_inventory(app, config):
    """Makes the inventory before sphinx.ext.intersphinx looks at its settings."""
    file = Path(app.doctreedir) / "lammps.inv"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_inventory(read_pages(config.lammps_pages), file)
    config.intersphinx_mapping = {"lammps": (ADDRESS, str(file))}


def setup(app):
    """Called by Sphinx."""
    app.add_config_value("lammps_pages", "", "env", types=[str])
    app.connect("config-inited", use_inventory, priority=100)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    source = Path(sys.argv[1])
    release = re.search(r'"(.*)"', (source / "src" / "version.h").read_text()).group(1)
    print(f"# Pages of LAMMPS' manual, {release}: name and title. Made by doc/utils/lammps_pages.py.")
    for name, title in pages_of_sources(source / "doc" / "src"):
        print(name, title.encode("ascii", "ignore").decode())
