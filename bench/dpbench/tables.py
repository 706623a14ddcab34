"""Markdown tables and numbers in them; the file of all results."""

import json


def markdown(header, rows):
    """A Markdown table; columns are padded so that it also reads well as plain text."""
    cells = [[str(c) for c in row] for row in [header, *rows]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths)) + " |" for row in cells]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])


def number(value, digits=3):
    """Three significant digits without an exponent where that is readable."""
    if value is None:
        return "-"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"
    return f"{value:.{digits - 1}e}"


def rounded(value, digits=6):
    """A tree of results with floats of so many significant digits."""
    if isinstance(value, dict):
        return {key: rounded(entry, digits) for key, entry in value.items()}
    if isinstance(value, list):
        return [rounded(entry, digits) for entry in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def compact(value, width=1000, indent=""):
    """JSON on lines of about `width` characters: what does not fit is broken into its entries, and short entries share a line."""
    text = json.dumps(value, separators=(",", ":"))
    if len(text) <= width or not isinstance(value, (dict, list)):
        return text
    inner = indent + " "
    named = value.items() if isinstance(value, dict) else [(None, entry) for entry in value]
    lines = [""]
    for name, entry in named:
        text = ("" if name is None else json.dumps(name) + ":") + compact(entry, width, inner)
        if lines[-1] and len(lines[-1]) + len(text) < width:
            lines[-1] += ", " + text
        else:
            lines.append(text)
    first, last = "{}" if isinstance(value, dict) else "[]"
    return first + "\n" + ",\n".join(inner + line for line in lines[1:]) + "\n" + indent + last


def write_results(path, result):
    """Writes results as JSON, small enough for a repository: six significant digits, one entry on a line."""
    path.write_text(compact(rounded(result)) + "\n")
