"""C++ as a list of tokens: no compiler, but comments, literals, brackets and functions are told apart."""

import re
from dataclasses import dataclass, field
from pathlib import PurePath

TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*)
  | (?P<raw>R"\((?:.*?)\)")
  | (?P<text>"(?:[^"\\\n]|\\.)*")
  | (?P<char>'(?:[^'\\\n]|\\.)+')
  | (?P<number>\.?\d(?:[eE][+-]|'\d|[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign>->|::|<<|[-+*/%&|^=!<>]=|&&|\|\||\+\+|--|.)
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
ESCAPES = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\'": "'", "\\\\": "\\"}
PAIRS = {"(": ")", "[": "]", "{": "}"}
NO_FUNCTIONS = {"if", "for", "while", "switch", "catch"}


@dataclass
class Token:
    kind: str
    value: str


@dataclass
class Function:
    """`parameters` are pairs of a name and the tokens of its default; the body are the tokens from `begin` to `end`. `is_local`: only
    its own file can call it; `owner` is its class, where its name says so."""
    name: str
    parameters: list
    begin: int
    end: int
    is_local: bool = True
    owner: str = ""


@dataclass
class Source:
    path: str
    tokens: list
    functions: list = field(default_factory=list)
    includes: set = field(default_factory=set)  # stems of the headers

    @property
    def stem(self):
        return PurePath(self.path).stem

    def around(self, index):
        """The functions whose body the token is in, the innermost first."""
        found = [f for f in self.functions if f.begin <= index < f.end]
        return sorted(found, key=lambda f: f.end - f.begin)


def tokenize(text):
    """Tokens without comments and preprocessor lines; neighboring literals are one."""
    tokens = []
    for match in TOKEN.finditer(text):
        kind, value = match.lastgroup, match.group()
        if kind == "skip":
            continue
        if kind == "raw":
            kind, value = "text", value[3:-2]
        elif kind == "text":
            value = re.sub(r"\\.", lambda m: ESCAPES.get(m.group(), m.group()), value[1:-1])
        if kind == "text" and tokens and tokens[-1].kind == "text":
            tokens[-1].value += value
        else:
            tokens.append(Token(kind, value))
    return tokens


def is_sign(token, value):
    return token.kind == "sign" and token.value == value


def end_of(tokens, begin):
    """Index of the bracket that closes the one at `begin`."""
    close, depth = PAIRS[tokens[begin].value], 0
    for i in range(begin, len(tokens)):
        if is_sign(tokens[i], tokens[begin].value):
            depth += 1
        elif is_sign(tokens[i], close):
            depth -= 1
            if depth == 0:
                return i
    return len(tokens)


def begin_of(tokens, end):
    """Index of the round bracket that the one at `end` closes."""
    depth = 0
    for i in range(end, -1, -1):
        depth += is_sign(tokens[i], ")") - is_sign(tokens[i], "(")
        if depth == 0:
            return i
    return 0


def split(tokens, sign, angles=False):
    """Parts between the signs that are in no bracket (of declarations also in no angle bracket)."""
    parts, depth = [[]], 0
    for token in tokens:
        if token.kind == "sign":
            opening = token.value in PAIRS or (angles and token.value == "<")
            closing = token.value in PAIRS.values() or (angles and token.value == ">")
            depth += opening - closing
        if depth == 0 and is_sign(token, sign):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts if parts != [[]] else []


def parameters_of(tokens):
    found = []
    for part in split(tokens, ",", angles=True):
        sides = split(part, "=")
        names = [t.value for t in sides[0] if t.kind == "name"]
        found.append((names[-1] if names else "", sides[1] if len(sides) > 1 else []))
    return found


def head_of(tokens, brace):
    """(name, parameters) of the function or lambda whose body begins at `brace`; None where it is another block."""
    i = brace - 1
    while i > 0 and tokens[i].kind == "name" and tokens[i].value in ("const", "noexcept", "override", "mutable", "final"):
        i -= 1
    if i < 1 or not is_sign(tokens[i], ")"):
        return None
    begin = begin_of(tokens, i)
    before = tokens[begin - 1]
    parameters = parameters_of(tokens[begin + 1:i])
    if before.kind == "name" and before.value not in NO_FUNCTIONS:
        return before.value, parameters
    if is_sign(before, "]"):
        while begin > 0 and not is_sign(tokens[begin], "["):
            begin -= 1
        named = begin > 1 and is_sign(tokens[begin - 1], "=")
        return tokens[begin - 2].value if named else "", parameters
    return None


def read_source(path, text):
    source = Source(path, tokenize(text))
    source.includes = {PurePath(name).stem for name in re.findall(r'#include "([^"]+)"', text)}
    for i, token in enumerate(source.tokens):
        head = head_of(source.tokens, i) if is_sign(token, "{") else None
        if head:
            begin = begin_of(source.tokens, max(k for k in range(i) if is_sign(source.tokens[k], ")")))
            qualified = begin > 1 and is_sign(source.tokens[begin - 2], "::")
            owner = source.tokens[begin - 3].value if qualified else ""
            is_local = not (qualified or path.endswith(".h"))
            source.functions.append(Function(*head, i + 1, end_of(source.tokens, i), is_local, owner))
    return source
