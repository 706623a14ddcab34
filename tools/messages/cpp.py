"""Messages of the C++ sources: what is thrown, given to LAMMPS' `error` or to a log of warnings, directly or through a function that
adds something to the text it gets."""

import re
from dataclasses import dataclass

from .expressions import MESSAGE, Renderer, choice, has_words
from .tokens import Token, end_of, is_sign, split

LAMMPS_ERRORS = {"all": "error", "one": "error", "warning": "warning"}
LOGS = {"warning": "warning", "warn_": "warning", "end_job": "error"}
OWN_ERRORS = {"Error", "OutOfMemory", "WrongStructure"}
FOREIGN = {"c10", "std", "torch"}  # who has errors of the same names
RESULTS = {"unlikely_distance": "warning", "line_about": "warning", "shortage_warning": "warning", "plugin_refusal": "error",
           "refusal_of": "error"}  # functions whose result is a message
KEPT = {"failure", "message"}  # variables that hold a message until it is told
STATEMENT_ENDS = (";", "{", "}", ")", "else")
SIGNS = {"WARNING: ": "warning", "ERROR: ": "error"}  # how texts begin that go to the screen as they are
MAX_RETURNS, MAX_TEXTS = 8, 5


@dataclass
class Sink:
    """One place where a message begins: the arguments, and the function (with its source) that completes the text, if any."""
    source: object
    index: int
    kind: str
    arguments: list
    helper: object = None


def words_outside(text):
    """Whether a text is more than a word, values aside."""
    return sum(any(sign.isalpha() for sign in word) for word in re.sub(r"<[^<>]*>", " ", text).split()) > 1


def without_sign(text):
    """In one line, without the word that says what it is."""
    text = " ".join(text.split())
    return next((text.removeprefix(sign) for sign in SIGNS if text.startswith(sign)), text)


def caught_error(tokens, index):
    """The name of the Error of this package that is caught around a place, if any: its text is a message of the list."""
    for i in range(index, max(index - 400, 0), -1):
        if tokens[i].value != "catch" or not is_sign(tokens[i + 1], "("):
            continue
        head = end_of(tokens, i + 1)
        if end_of(tokens, head + 1) > index:
            words = {t.value for t in tokens[i:head]}
            return tokens[head - 1].value if words & OWN_ERRORS and not words & FOREIGN else ""
    return ""


def statement(tokens, begin):
    """Tokens up to the next semicolon outside of brackets."""
    return split(tokens[begin:begin + 400], ";")[0]


def sink_at(source, i):
    """The direct sink that begins at token i, or None."""
    tokens, token = source.tokens, source.tokens[i]
    if token.kind != "name":
        return None
    if token.value == "throw":
        thrown = statement(tokens, i + 1)
        return Sink(source, i, "error", [thrown]) if thrown else None
    if token.value in KEPT and is_sign(tokens[i + 1], "="):
        return Sink(source, i, "error", [statement(tokens, i + 2)])
    if token.value == "return":
        kinds = [RESULTS[f.name] for f in source.around(i) if f.name in RESULTS]
        return Sink(source, i, kinds[0], [statement(tokens, i + 1)]) if kinds else None
    if i + 1 >= len(tokens) or not is_sign(tokens[i + 1], "("):
        return None
    arguments = split(tokens[i + 2:end_of(tokens, i + 1)], ",")
    before = tokens[i - 1].value if i else ""
    if token.value in LAMMPS_ERRORS and arguments and arguments[0] and arguments[0][0].value == "FLERR":
        arguments = arguments[1:]
        if len(arguments) > 1 and not any(t.kind == "text" for t in arguments[0]):
            arguments = arguments[1:]  # the index of a word of the input
        return Sink(source, i, LAMMPS_ERRORS[token.value], arguments)
    if token.value in LOGS and (before in (".", "->") or token.value != "warning") and tokens[i - 1].kind != "name":
        return Sink(source, i, LOGS[token.value], arguments)
    if token.value == "push_back" and i > 1 and tokens[i - 2].value == "warnings":
        return Sink(source, i, "warning", arguments)
    for argument in arguments if token.value not in ("format", "fprintf") else []:
        kind = next((SIGNS[sign] for t in argument[:3] for sign in SIGNS if t.value.startswith(sign)), None)
        if kind:
            return Sink(source, i, kind, [argument])
    return None


class Program:
    """All sources, and the messages in them."""

    def __init__(self, sources):
        self.sources = sources
        self.by_name = {}
        self.of_files = {}  # what variables of files are set to
        for source in sources:
            for function in source.functions:
                self.by_name.setdefault(function.name, []).append((source, function))
        self.headers = {s.stem: s.includes for s in sources if s.path.endswith(".h")}
        self.seen = {}  # what sources include
        self.calls = {}
        for source in sources:
            for i, (token, following) in enumerate(zip(source.tokens, source.tokens[1:])):
                if token.kind == "name" and is_sign(following, "("):
                    self.calls.setdefault(token.value, []).append((source, i))
        self.sinks = [sink for s in sources for i in range(len(s.tokens)) if (sink := sink_at(s, i))]
        self.helpers = {}  # id of a function -> its sinks
        self.filled = set()  # sinks whose text is given by those who call
        self.bare = set()  # functions that are also called with nothing but values
        self.find_helpers()

    def function_of(self, sink):
        """The innermost function with a name around a sink."""
        return next((f for f in sink.source.around(sink.index) if f.name), None)

    def find_helpers(self):
        done = 0
        while done < len(self.sinks):
            new = []
            for sink in self.sinks[done:]:
                function = self.function_of(sink)
                names = {name for name, _ in function.parameters} if function else set()
                used = {t.value for argument in sink.arguments for t in self.with_locals(sink, argument) if t.kind == "name"}
                if names & used:
                    if id(function) not in self.helpers:
                        new.append(function)
                    self.helpers.setdefault(id(function), []).append(sink)
            done = len(self.sinks)
            for function in new:
                self.sinks += self.calls_of(function)

    def with_locals(self, sink, tokens):
        """The tokens, and those of variables of the function that they name."""
        found = list(tokens)
        for token in tokens:
            local = self.variable(sink.source, sink.index, token.value) if token.kind == "name" else None
            found += local or []
        return found

    def calls_of(self, function):
        """Calls that give words to a function, which has the rest of the message."""
        found = []
        for source, i in self.calls.get(function.name, []):
            before = source.tokens[i - 1]
            if (before.kind == "name" and before.value not in ("return", "else", "throw")) or before.value == "::":
                continue  # a declaration
            arguments = split(source.tokens[i + 2:end_of(source.tokens, i + 1)], ",")
            call = Sink(source, i, "", arguments, function)
            if self.resolve(source, i, len(arguments)) is not function:
                continue
            texts = [self.renderer(call, {}).text(argument) for argument in arguments]
            if any(words_outside(text) for text in texts):
                found.append(call)
            elif MESSAGE not in texts:
                self.bare.add(id(function))
        return found

    def resolve(self, source, index, count):
        """The function of the call at a token: in this file, else one that it includes, first of the class that the object is named after;
        None where there is none with so many parameters."""
        tokens = source.tokens
        is_method = index > 1 and tokens[index - 1].value in (".", "->")
        receiver = tokens[index - 2].value.strip("_").lower() if is_method else ""

        def rank(candidate):
            home, function = candidate
            return home is source, receiver != "" and receiver in function.owner.lower(), home.stem in source.includes

        fitting = [(s, f) for s, f in self.by_name.get(tokens[index].value, [])
                   if (s is source or (not f.is_local and s.stem in self.included(source)))
                   and len([p for p in f.parameters if not p[1]]) <= count <= len(f.parameters)]
        return max(fitting, key=rank)[1] if fitting else None

    def included(self, source):
        """Stems of the headers that a source includes, and of those that these include."""
        if source.path not in self.seen:
            found, todo = set(), set(source.includes) | {source.stem}
            while todo:
                found |= todo
                todo = {stem for one in todo for stem in self.headers.get(one, ())} - found
            self.seen[source.path] = found
        return self.seen[source.path]

    def variable(self, source, index, name):
        """What a variable is set to, as one expression: in the function around the place, else in the file."""
        if name in KEPT:
            return None
        named = [f for f in source.around(index) if f.name]
        for function in named[:1]:
            if name in (parameter for parameter, _ in function.parameters):
                return None
            found = assignments(source.tokens[function.begin:index], name)
            if found:
                return found if has_words(found) else None
        key = (source.path, name)
        if key not in self.of_files:
            found = assignments(source.tokens, name, at_most=1)
            self.of_files[key] = found if has_words(found) else None
        return self.of_files[key]

    def renderer(self, sink, values):
        def lookup(name):
            return values[name] if name in values else self.variable(sink.source, sink.index, name)

        def call(name, arguments):
            return self.returned(sink, name, arguments, renderer)

        renderer = Renderer(lookup, call, caught_error(sink.source.tokens, sink.index))
        return renderer

    def returned(self, sink, name, arguments, outer):
        """The text of a function whose return statements have words."""
        tokens = sink.source.tokens
        places = [i for i, token in enumerate(tokens) if token.value == name]
        call = min(places, key=lambda i: (i < sink.index, i)) if places else None
        function = self.resolve(sink.source, call, len(arguments)) if call is not None else None
        if not function:
            return None
        home = next(s for s, f in self.by_name[name] if f is function)
        returns = [i for i in range(function.begin, function.end) if home.tokens[i].value == "return"]
        expressions = [statement(home.tokens, i + 1) for i in returns]
        if not 0 < len(returns) <= MAX_RETURNS or not any(has_words(e) for e in expressions):
            return None
        values = given(function, [outer.text(a) for a in arguments])
        texts = []
        for i, expression in zip(returns, expressions):
            inner = self.renderer(Sink(home, i, "", []), values)
            inner.depth = outer.depth + 1
            texts.append(inner.text(expression))
        return choice(texts) if len(set(texts) - {""}) <= MAX_TEXTS else None

    def texts(self, sink, values):
        """(kind, text) of the messages of a sink, with the tokens of parameters in `values`."""
        renderer = self.renderer(sink, values)
        if not sink.helper:
            return [(sink.kind, renderer.formatted(sink.arguments) if len(sink.arguments) > 1 else renderer.text(sink.arguments[0]))]
        texts = [renderer.text(argument) for argument in sink.arguments]
        inner = given(sink.helper, texts)
        full = {name for (name, _), text in zip(sink.helper.parameters, texts) if words_outside(text)}
        found = []
        for other in self.helpers[id(sink.helper)]:
            used = {t.value for argument in other.arguments for t in self.with_locals(other, argument)}
            if full & used:
                self.filled.add(id(other))
                found += self.texts(other, inner)
        return found

    def messages(self):
        """(path, kind, text) of all of them."""
        found = [(sink, self.texts(sink, {})) for sink in self.sinks]
        return [(sink.source.path, kind, without_sign(text)) for sink, texts in found for kind, text in texts
                if words_outside(text) and (id(sink) not in self.filled or id(self.function_of(sink)) in self.bare)]


def given(function, texts):
    """Values of the parameters: texts of the arguments, else the defaults, as tokens."""
    values = {}
    for k, (name, default) in enumerate(function.parameters):
        values[name] = [Token("text", texts[k])] if k < len(texts) else default
    return values


def assignments(tokens, name, at_most=100):
    """All that is assigned to a variable or added to it, as one sum."""
    found, plain = [], 0
    for i, token in enumerate(tokens[:-2]):
        if token.kind != "name" or token.value != name or (i and tokens[i - 1].value in (".", "->")):
            continue
        sign = i + 1
        while is_sign(tokens[sign], "[") and sign + 2 < len(tokens):
            sign = end_of(tokens, sign) + 1
        if sign >= len(tokens) or tokens[sign].value not in ("=", "+=", "<<"):
            continue
        if tokens[sign].value == "<<" and i and tokens[i - 1].value not in STATEMENT_ENDS:
            continue
        plain += tokens[sign].value == "="
        for part in split(statement(tokens, sign + 1), "<<"):
            found.append(part)
    if plain > at_most or (at_most == 1 and plain != len(found)):
        return []
    joined = []
    for part in found:
        joined += [Token("sign", "+"), Token("sign", "("), *part, Token("sign", ")")]
    return joined[1:]
