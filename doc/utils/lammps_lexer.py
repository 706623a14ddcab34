"""Colors of LAMMPS input in the manual: `.. code-block:: LAMMPS`."""

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text

WORD = r"[^\s#&\"'$]+"


class LAMMPSLexer(RegexLexer):
    """The first word of a line is a command; fix and compute name themselves, a group and a style behind it, commands that end
    with _style a style."""

    name = "LAMMPS"
    aliases = ["LAMMPS", "lammps"]
    tokens = {
        "root": [
            (r"\s+", Text),
            (r"#.*", Comment),
            (rf"(fix|compute)(\s+)({WORD})(\s+)({WORD})(\s+)({WORD})",
             bygroups(Keyword, Text, Name.Variable, Text, Name.Entity, Text, Name.Function), "line"),
            (rf"(\w+_style)(\s+)({WORD})", bygroups(Keyword, Text, Name.Function), "line"),
            (r"(variable)(\s+)(\w+)(\s+)(\w+)", bygroups(Keyword, Text, Name.Variable, Text, Name.Entity), "line"),
            (WORD, Keyword, "line"),
            (r".", Text, "line"),
        ],
        "line": [
            (r"&[ \t]*\n", Operator),  # goes on in the next line
            (r"\n", Text, "#pop"),
            (r"#.*", Comment),
            (r'"[^"]*"|\'[^\']*\'', String),
            (r"\$\{\w+\}|\$\([^)]*\)|\$\w", Name.Variable),
            (r"[cfv]_\w+(\[\w+\])*", Name.Variable),
            (r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?(?=[\s#&]|$)", Number),
            (WORD, Text),
            (r".", Text),
        ],
    }


def setup(app):
    """Called by Sphinx, which loads this file as an extension."""
    app.add_lexer("LAMMPS", LAMMPSLexer)
    return {"parallel_read_safe": True}
