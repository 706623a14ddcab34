"""Markdown tables and numbers in them."""


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
