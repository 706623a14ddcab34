"""The report of ``dptrain check``: plain text, and one file of HTML with all figures in it."""

from __future__ import annotations

import base64
import html
import textwrap

WIDTH = 110  # columns of the text
FINE = "nothing wrong was found"
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#222}
h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2em;border-bottom:1px solid #ddd}table{border-collapse:collapse;margin:1em 0}
th,td{padding:.15em .9em;text-align:right;border-bottom:1px solid #eee}th:first-child,td:first-child{text-align:left}
.wrong{color:#a01f1f}.fine{color:#1f6f3a}.about{color:#555}img{max-width:100%;display:block;margin:1em 0}
pre{background:#f6f6f6;padding:.6em;overflow:auto}figcaption{color:#555}figure{margin:1em 0}"""


def problems_of(parts):
    """(part, Problem) of all parts, most severe first."""
    return sorted(((part, problem) for part in parts for problem in part.problems), key=lambda pair: pair[1].severity)


def sentence(text):
    return text[:1].upper() + text[1:]


# ---------------------------------------------------------------- text

def wrapped(text, first="", rest=""):
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)


def table_lines(table):
    """Aligned columns: the first to the left, numbers to the right."""
    rows = [table.head, *table.rows]
    widths = [max(len(line[k]) for line in rows) for k in range(len(table.head))]
    for line in rows:
        yield "  " + "  ".join(word.ljust(width) if k == 0 else word.rjust(width) for k, (word, width) in enumerate(zip(line, widths))).rstrip()


def part_lines(part):
    """The lines of one part."""
    yield from ("", part.title, "-" * len(part.title))
    if part.left_out:
        yield wrapped(f"Left out: {part.left_out}.")
    if part.explanation:
        yield wrapped(part.explanation)
    for table in part.tables:
        yield ""
        yield from table_lines(table)
    if part.notes:
        yield ""
        yield from (wrapped(note) for note in part.notes)
    if part.listing:
        yield ""
        yield from ("  " + line for line in part.listing.splitlines())
    if part.problems:
        yield ""
        yield from (wrapped(sentence(problem.text), "! ", "  ") for problem in part.problems)


def verdict_lines(parts):
    """What is wrong, numbered."""
    found = problems_of(parts)
    if not found:
        yield FINE
    for number, (part, problem) in enumerate(found, 1):
        first = f"{number:3}. "
        yield wrapped(f"{part.name}: {sentence(problem.text)}", first, " " * len(first))


def text_of(title, facts, parts):
    """The whole report. facts: {name: value} of what was looked at."""
    width = max(map(len, facts))
    return "\n".join([title, *(f"  {name:{width}}  {value}" for name, value in facts.items()), "", "Verdict", "-------", *verdict_lines(parts),
                      *(line for part in parts for line in part_lines(part))]) + "\n"


# ---------------------------------------------------------------- HTML

def table_html(table):
    def line(words, cell):
        return "<tr>" + "".join(f"<{cell}>{html.escape(word)}</{cell}>" for word in words) + "</tr>"

    return f"<table>{line(table.head, 'th')}{''.join(line(words, 'td') for words in table.rows)}</table>"


def figure_html(caption, png):
    data = base64.b64encode(png).decode("ascii")
    return f'<figure><img alt="{html.escape(caption)}" src="data:image/png;base64,{data}"><figcaption>{html.escape(caption)}</figcaption></figure>'


def part_html(part):
    """One section."""
    pieces = [f'<h2 id="{part.name}">{html.escape(part.title)}</h2>']
    if part.left_out:
        pieces.append(f"<p>Left out: {html.escape(part.left_out)}.</p>")
    if part.explanation:
        pieces.append(f'<p class="about">{html.escape(part.explanation)}</p>')
    pieces += [f'<p class="wrong">{html.escape(sentence(problem.text))}</p>' for problem in part.problems]
    pieces += map(table_html, part.tables)
    pieces += [f"<p>{html.escape(note)}</p>" for note in part.notes]
    if part.listing:
        pieces.append(f"<pre>{html.escape(part.listing)}</pre>")
    return "\n".join([*pieces, *(figure_html(*figure) for figure in part.figures)])


def verdict_html(parts):
    found = problems_of(parts)
    if not found:
        return f'<p class="fine">{FINE}</p>'
    items = "".join(f'<li class="wrong"><a href="#{part.name}">{part.name}</a>: {html.escape(sentence(problem.text))}</li>'
                    for part, problem in found)
    return f"<ol>{items}</ol>"


def html_of(title, facts, parts):
    """The whole report as one file that needs no other."""
    about = "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>" for name, value in facts.items())
    return "\n".join(['<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">', f"<title>{html.escape(title)}</title>",
                      f"<style>{STYLE}</style></head><body>", f"<h1>{html.escape(title)}</h1>", f"<table>{about}</table>",
                      '<h2 id="verdict">Verdict</h2>', verdict_html(parts),
                      *map(part_html, parts), "</body></html>"]) + "\n"
