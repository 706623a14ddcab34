"""The page of the manual that lists all messages."""

import re
import textwrap

from .expressions import CHOICE, END, OPTIONAL, OR

SESSION, LIBRARY = "lib/dptrain/src/session", "lib/dptrain/src"
GROUPS = [
    ("Commands of an input: pair style, fix, compute", ["src/USER-DPTRAIN", SESSION]),
    ("Uncertainty and active learning", [f"{LIBRARY}/uncertainty"]),
    ("Model files, checkpoints and input.json", [f"{SESSION}/checkpoint", f"{SESSION}/legacy_state", f"{SESSION}/model_slot", f"{LIBRARY}/input",
                                                f"{LIBRARY}/potential", f"{LIBRARY}/io", f"{LIBRARY}/base"]),
    ("Data sets and their statistics", [f"{SESSION}/statistics", f"{SESSION}/data_statistics", f"{LIBRARY}/data", f"{LIBRARY}/statistics",
                                       f"{LIBRARY}/frames"]),
    ("Training", [f"{LIBRARY}/training", f"{LIBRARY}/optimizer"]),
    ("Ranks, memory and devices", [f"{LIBRARY}/{folder}" for folder in ("parallel", "kernels", "neighbor", "rehearsal")]),
    ("Reference programs: sockets and spools", [f"{LIBRARY}/labels", "src/USER-DPTRAIN/reference",
                                               *(f"python/dptrain/{name}.py" for name in ("client", "label", "spool", "calculators"))]),
    ("Plugin and installation", ["src/USER-DPTRAIN/plugin"]),
    ("The program dptrain and Python", [f"{LIBRARY}/commands", "python"]),
]
HEAD = """\
Errors and warnings
===================

All messages of the package, in groups of what the run was doing, each with the file of the source that it comes from.
Values stand in angle brackets, as <file>; what is in square brackets is only there in some cases, and of (this | that)
one is there. A message names what was found and what to do. LAMMPS adds ERROR or WARNING and the place in its input.

This page is made by tools/list_messages.py from the sources.
"""
WIDTH = 120


def group_of(path):
    """Index of the group with the longest fitting beginning of the path."""
    fitting = [(len(start), k) for k, (_, starts) in enumerate(GROUPS) for start in starts if path.startswith(start)]
    if not fitting:
        raise SystemExit(f"list_messages: {path} is in no group: add it to GROUPS in tools/messages/page.py")
    return max(fitting)[1]


def with_brackets(text):
    """A text with brackets around its optional parts."""
    out, open_brackets = [], []
    for sign in text:
        if sign in (OPTIONAL, CHOICE):
            open_brackets.append("]" if sign == OPTIONAL else ")")
            out.append("[" if sign == OPTIONAL else "(")
        elif sign == OR:
            out.append(" | ")
        else:
            out.append(open_brackets.pop() if sign == END else sign)
    return " ".join("".join(out).split())


def slug_of(text):
    """The first words of a text, values aside."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"<[^<>]*>", " ", with_brackets(text)).lower())
    return "-".join(words[:8])


def literal(text):
    return f"``{text.replace('``', '` `')}``"


def entry(anchor, kind, text, paths):
    body = f"**{kind.capitalize()}:** {literal(with_brackets(text))}"
    lines = textwrap.wrap(body, WIDTH, break_long_words=False, break_on_hyphens=False)
    return [f".. _{anchor}:", "", *lines, "", f"   {', '.join(sorted(paths))}", ""]


def merged(messages):
    """{(group, kind, text): paths}, in the order of the page."""
    found = {}
    for path, kind, text in messages:
        found.setdefault((group_of(path), text, kind), set()).add(path)
    return dict(sorted(found.items(), key=lambda item: (item[0][0], slug_of(item[0][1]), item[0][1])))


def anchors(entries):
    """One name for each entry, made of its first words; a number makes it the only one."""
    used, found = {}, []
    for _, text, kind in entries:
        slug = f"dptrain-{kind}-{slug_of(text)}"
        used[slug] = used.get(slug, 0) + 1
        found.append(slug if used[slug] == 1 else f"{slug}-{used[slug]}")
    return found


def page(messages):
    """The text of the page."""
    entries = merged(messages)
    lines, last = [HEAD], None
    for anchor, ((group, text, kind), paths) in zip(anchors(entries), entries.items()):
        if group != last:
            title = GROUPS[group][0]
            lines += [title, '"' * len(title), ""]
            last = group
        lines += entry(anchor, kind, text, paths)
    return "\n".join(lines)
