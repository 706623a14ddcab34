#!/usr/bin/env python3
"""Lists all errors and warnings of the package in doc/src/Errors_dptrain.rst, and those that do not tell what to do.

Usage: tools/list_messages.py [--check]   writes the page; exit status 1 if there is a message without advice.
``--check`` only checks.

A message is one literal with its arguments, given to `throw`, to LAMMPS' `error`, to a log of warnings, or to a function
of SINKS that adds something to it. This is no compiler: literals and brackets are all it sees of C++.
"""

import ast
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "doc/src/Errors_dptrain.rst"
CPP = ["lib/dptrain", "src/USER-DPTRAIN", "python/bindings"]
GROUPS = [  # title, folders
    ("Commands of an input: pair style, fix, compute", ["src/USER-DPTRAIN", "lib/dptrain/src/session"]),
    ("Model files, checkpoints and input.json", ["lib/dptrain/src/input", "lib/dptrain/src/potential", "lib/dptrain/src/io"]),
    ("Data sets and their statistics", ["lib/dptrain/src/data", "lib/dptrain/src/statistics", "lib/dptrain/src/frames"]),
    ("Training and uncertainty", ["lib/dptrain/src/training", "lib/dptrain/src/optimizer", "lib/dptrain/src/uncertainty"]),
    ("Reference programs: sockets and spools", ["lib/dptrain/src/labels", "src/USER-DPTRAIN/reference"]),
    ("The program dptrain and Python", ["lib/dptrain/src/commands", "python"]),
    ("Ranks, memory, devices, installation", [""]),
]
HEAD = """\
Errors and warnings
===================

All messages of the package, in groups of what the run was doing, each with the file of the source that it comes from.
Values stand in angle brackets, as <file>; of (this | that) one is there. A message names what was found and what to do.
LAMMPS adds ERROR or WARNING and the place in its input.

This page is made by tools/list_messages.py from the sources.
"""
WIDTH = 120

# ---------------------------------------------------------------- what tells what to do

VERBS = ("add allow ask begin build change check choose close compute continue convert copy correct define delete divide end "
         "exclude fix free freeze give go increase install keep label leave let list look lower make mend move name omit order "
         "pass put raise rebuild reduce remove rename repair repeat replace report resume run see set shorten split start stop "
         "train try turn unfix unset update upgrade use wait write").split()
ORDER = re.compile(r"(?:^|[:;,.?(|] ?|\b(?:and|or|then|please|instead|first|also|else) )"
                   rf"(?:{'|'.join(VERBS)})\b(?! of\b)", re.IGNORECASE)
RULE = re.compile(r"\b(?:must|needs?|(?:is|are) needed|needed is|requires?|required|expected(?= (?!errors\b))|is expected$|allowed|"
                  r"possible are|known are|there are only|at least|at most|the (?:smallest|largest)|only one|instead of|one of)\b"
                  r"|\bfrom \S+ (?:to|on|up)\b|\bhas only\b")
# values that end a message with advice, or that are messages of their own
ADVICE = re.compile(r"<(?:[^<>]*advice|hint|known|message|what|why|reason|remedy|error)>")
SPEAKER = re.compile(r"^(?:Pair style|Fix|Compute) dptrain\S*:? |^training data: ")


def has_advice(text):
    plain = " ".join(SPEAKER.sub("", re.sub(r"<[^<>]*>", "X", text)).split())
    return bool(ADVICE.search(text) or ORDER.search(plain) or RULE.search(plain))


# ---------------------------------------------------------------- C++

TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*)
  | (?P<text>"(?:[^"\\\n]|\\.)*")
  | (?P<word>'(?:[^'\\\n]|\\.)+'|\.?\d(?:[eE][+-]|'\d|[\w.])*|[A-Za-z_]\w*)
  | (?P<sign>->|::|<<|.)
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
ESCAPES = {"\\n": " ", "\\t": " ", '\\"': '"', "\\'": "'", "\\\\": "\\"}
PAIRS = {"(": ")", "[": "]", "{": "}"}
ERRORS = {"Error", "OutOfMemory", "WrongStructure"}
SINKS = {**dict.fromkeys(("all", "one", "fail", "check", "require", "refuse", "end_job", "damaged"), "error"),
         **dict.fromkeys(("warning", "warn", "warn_"), "warning"), **dict.fromkeys(ERRORS, "error")}
PASS_ON = {"string", "c_str", "move", "str"} | ERRORS


def tokenize(text):
    """Texts of tokens without comments and preprocessor lines; neighboring literals are one, and begin with a quote."""
    tokens = []
    for match in TOKEN.finditer(text):
        value = match.group()
        if match.lastgroup == "skip":
            continue
        if match.lastgroup == "text":
            value = '"' + re.sub(r"\\.", lambda m: ESCAPES.get(m.group(), m.group()), value[1:-1])
            if tokens and tokens[-1].startswith('"'):
                tokens[-1] += value[1:]
                continue
        tokens.append(value)
    return tokens


def end_of(tokens, begin):
    """Index of the bracket that closes the one at `begin`."""
    depth = 0
    for i in range(begin, len(tokens)):
        depth += (tokens[i] == tokens[begin]) - (tokens[i] == PAIRS[tokens[begin]])
        if depth == 0:
            return i
    return len(tokens)


def split(tokens, sign):
    """Parts between signs outside of brackets."""
    parts, i = [[]], 0
    while i < len(tokens):
        end = end_of(tokens, i) if tokens[i] in PAIRS else i
        if tokens[i] == sign:
            parts.append([])
        else:
            parts[-1] += tokens[i:end + 1]
        i = end + 1
    return parts


def short_name(tokens):
    """A name for a value: the last name of its expression that is no function, else the first that is one."""
    names = [(t.strip("_"), after == "(") for t, after in zip(tokens, [*tokens[1:], ""])
             if re.match(r"[A-Za-z_]", t) and after != "::" and t not in ("static_cast", "this", "int", "double")]
    plain = [name for name, is_call in names if not is_call]
    calls = [name for name, is_call in names if is_call and name not in ("string", "c_str", "str", "joined")]
    name = "reason" if "what" in calls or "strerror" in calls else (plain or calls[:1] or ["value"])[-1]
    return next((call for call in calls if "advice" in call or call == "hint"), name).replace("_", " ")


def rendered(tokens):
    """What the text of an expression looks like: literals as they are, <name> for values, (this | that) for choices."""
    while tokens and tokens[0] == "(" and end_of(tokens, 0) == len(tokens) - 1:
        tokens = tokens[1:-1]
    question = split(tokens, "?")
    if len(question) > 1:
        sides = split(tokens[len(question[0]) + 1:], ":")
        texts = [rendered(side) for side in sides if side]
        return "(" + " | ".join(texts) + ")" if any(" " in text for text in texts) else f"<{short_name(question[0])}>"
    sum_of = split(tokens, "+")
    if len(sum_of) > 1 and any(part[0].startswith('"') for part in sum_of if part):
        return "".join(rendered(part) for part in sum_of)
    if len(tokens) == 1 and tokens[0].startswith('"'):
        return tokens[0][1:]
    if tokens and tokens[-1] == ")" and "(" in tokens:
        begin = tokens.index("(")
        if begin and end_of(tokens, begin) == len(tokens) - 1:
            arguments = split(tokens[begin + 1:-1], ",")
            if tokens[begin - 1] == "format":
                return formatted(arguments)
            if tokens[begin - 1] in PASS_ON:
                return rendered(arguments[0])
    return f"<{short_name(tokens)}>"


def formatted(arguments):
    """A format with the names of its values in the order of the placeholders."""
    values = [rendered(argument) for argument in arguments[1:]]
    left = iter(values)
    text = re.sub(r"\{(\d*)(?::[^{}]*)?\}", lambda m: values[int(m[1])] if m[1] and int(m[1]) < len(values) else next(left, "<value>"),
                  rendered(arguments[0]).replace("{{", "\1").replace("}}", "\2"))
    return text.replace("\1", "{").replace("\2", "}")


def with_constants(tokens):
    """The tokens with the texts of constants (`const ... name = "..."`) in the place of their names."""
    constants = {tokens[i - 3 if tokens[i - 1] == "]" else i - 1]: after for i, after in enumerate(tokens[1:])
                 if tokens[i] == "=" and after.startswith('"') and after.count(" ") > 3 and tokens[i - 1] != "why"}
    return [constants.get(token, token) for token in tokens]


def own_sinks(tokens):
    """{name: text} of the functions of a source that complete a message, and what they add to it."""
    found = {}
    for i, token in enumerate(tokens[:-1]):
        is_lambda = tokens[i + 1:i + 3] == ["=", "["]
        if token in SINKS and (is_lambda or (tokens[i + 1] == "(" and re.match(r"\w|::", tokens[i - 1]))):
            end = end_of(tokens, tokens.index("(", i))
            if "{" in tokens[end:end + 3]:
                begin = tokens.index("{", end)
                found[token] = " ".join(t.lstrip('"') for t in tokens[begin:end_of(tokens, begin)] if t.startswith('"') or t in ("hint", "advice"))
    return found


def cpp_messages(text):
    """(kind, text) of the messages of a source. Where a function of the source adds what to do, it is <advice>."""
    tokens, found = with_constants(tokenize(text)), []
    own = own_sinks(tokens)
    for i, (token, after) in enumerate(zip(tokens, tokens[1:])):
        if token not in SINKS or after != "(" or (token in ("all", "one") and tokens[i + 2] != "FLERR"):
            continue
        arguments = split(tokens[i + 2:end_of(tokens, i + 1)], ",")
        words = [k for k, argument in enumerate(arguments) if any(t.startswith('"') and " " in t for t in argument)]
        if words:
            is_format = arguments[words[0]][0].startswith('"') and len(arguments) > words[0] + 1 and "{" in arguments[words[0]][0]
            told = formatted(arguments[words[0]:]) if is_format else rendered(arguments[words[0]])
            is_completed = has_advice(f"{own.get(token, '')} <{own.get(token, ' ').split(' ')[-1]}>") or (
                tokens[i - 2:i] == ["state", "."] or token == "fail" and "class State {" in text)  # State::fail
            found.append((SINKS[token], told + ("; <advice>" if is_completed and not has_advice(told) else "")))
    return found


# ---------------------------------------------------------------- Python

PRINTED = re.compile(r"dptrain(?: client| label)?: (?:warning: |error: )?")


def python_text(node):
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(python_text, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return python_text(node.left) + python_text(node.right)
    if isinstance(node, ast.IfExp):
        return f"({python_text(node.body)} | {python_text(node.orelse)})"
    names = [n.attr if isinstance(n, ast.Attribute) else n.id for n in ast.walk(node) if isinstance(n, (ast.Attribute, ast.Name))]
    names = [name.strip("_") for name in names if name not in ("len", "join", "str", "self", "repr", "sorted", "map")]
    return f"<{names[0].replace('_', ' ') if names else 'value'}>"


def python_messages(text):
    """(kind, text) of what a source raises, or prints on stderr."""
    found = []
    for node in ast.walk(ast.parse(text)):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call) or not call.args:
            continue
        on_stderr = any(k.arg == "file" and "stderr" in ast.unparse(k.value) for k in call.keywords)
        if isinstance(node, ast.Raise) or on_stderr or getattr(call.func, "attr", "") == "error":
            told = " ".join(python_text(call.args[0]).split())
            start = PRINTED.match(told)
            found.append(("warning" if start and "warning" in start.group() else "error", told[start.end():] if start else told))
    return found


# ---------------------------------------------------------------- the page

def all_messages():
    """(path, kind, text) of all messages in the sources; what has no words of its own adds nothing."""
    found = []
    for folder, reader, endings in [*((f, cpp_messages, (".h", ".cpp")) for f in CPP), ("python/dptrain", python_messages, (".py",))]:
        for path in sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in endings):
            found += [(path.relative_to(ROOT).as_posix(), kind, " ".join(text.split())) for kind, text in reader(path.read_text())]
    return [m for m in found if len(re.findall(r"[A-Za-z]{2,}", re.sub(r"<[^<>]*>", " ", SPEAKER.sub("", m[2])))) > 1]


def without_advice(messages):
    return sorted({f"{path}: no advice in: {text}" for path, _, text in messages if not has_advice(text)})


def page(messages):
    """The text of the page."""
    lines = [HEAD]
    groups = {path: next(title for title, starts in GROUPS if path.startswith(tuple(starts))) for path, _, _ in messages}
    for title, _ in GROUPS:
        entries = {}
        for path, kind, text in messages:
            if groups[path] == title:
                entries.setdefault((text, kind), set()).add(path)
        lines += [title, '"' * len(title), ""]
        for (text, kind), paths in sorted(entries.items(), key=lambda e: re.sub(r"<[^<>]*>|[^a-z ]", "", e[0][0].lower()).strip()):
            body = f"**{kind.capitalize()}:** ``{text.replace('``', '` `')}``"
            lines += [*textwrap.wrap(body, WIDTH, break_long_words=False, break_on_hyphens=False), "", f"   {', '.join(sorted(paths))}", ""]
    return "\n".join(lines)


def main(arguments):
    messages = all_messages()
    faults = without_advice(messages)
    if "--check" not in arguments:
        PAGE.write_text(page(messages))
    print("\n".join(faults) if faults else f"list_messages: {len(messages)} messages, all with advice")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
