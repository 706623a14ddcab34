"""What an expression of C++ that makes a text looks like to who reads the text: literals as they are, `<name>` for values."""

import re

from .tokens import end_of, is_sign, split

PASS_ON = {"string", "to_string", "move", "str", "format", "formatted", "c_str", "Error", "OutOfMemory", "WrongStructure"}
OPTIONAL, CHOICE, OR, END = "\1", "\2", "\3", "\4"  # [A] and (A | B) of a text, told from brackets of its own
PLACEHOLDER = re.compile(r"\{[^{}]*\}|%[-+ 0#.\d]*(?:ll|z|l)?[diugefsx]")
MESSAGE = "<message>"  # another one of the list
DEPTH = 6
NO_NAMES = {"int", "double", "char", "long", "float", "static_cast", "this", "i", "j", "k"}
NAMES = {"where": "place"}  # of what functions return


def has_words(tokens):
    """Whether there is a literal that is more than a word."""
    return any(t.kind == "text" and " " in t.value.strip() for t in tokens)


def optional(text):
    return OPTIONAL + text + END if text else ""


def choice(texts):
    """One of several texts; an empty one makes the others optional."""
    full = list(dict.fromkeys(text for text in texts if text))
    one = full[0] if len(full) == 1 else CHOICE + OR.join(full) + END
    return one if all(texts) else optional(one) if full else ""


class Renderer:
    """Renders expressions of one place. `lookup(name)` gives the expression (tokens) of a variable, or None; `call(name, arguments)` the
    text of a function with the arguments (lists of tokens), or None; `caught` is the name of an Error whose text is a message of the list."""

    def __init__(self, lookup, call, caught=""):
        self.lookup, self.call, self.caught, self.depth = lookup, call, caught, 0

    def text(self, tokens):
        while tokens and is_sign(tokens[0], "(") and end_of(tokens, 0) == len(tokens) - 1:
            tokens = tokens[1:-1]
        question = split(tokens, "?")
        if len(question) > 1:
            return self.alternatives(tokens[len(question[0]) + 1:])
        pieces = split(tokens, "+")
        if len(pieces) > 1 and not any(len(piece) == 1 and piece[0].kind == "number" for piece in pieces):
            return "".join(self.text(piece) for piece in pieces)
        return self.piece(tokens)

    def alternatives(self, tokens):
        """Both sides of A : B (with further choices in B)."""
        one = split(tokens, ":")[0]
        sides = [self.text(one), self.text(tokens[len(one) + 1:])]
        if all(sides) and "<" in sides[0] + sides[1] and " " not in sides[0] + sides[1]:
            return sides[0]
        return choice(sides)

    def piece(self, tokens):
        if not tokens:
            return ""
        if len(tokens) == 1 and tokens[0].kind in ("text", "char"):
            return tokens[0].value.strip("'") if tokens[0].kind == "char" else tokens[0].value
        if len(tokens) == 1 and tokens[0].kind == "number":
            return tokens[0].value
        if tokens[0].kind == "text" and all(t.kind in ("text", "name") for t in tokens):  # macros between literals
            return "".join(t.value if t.kind == "text" else f"<{t.value}>" for t in tokens)
        if [t.value for t in tokens[:3]] == [self.caught, ".", "what"]:
            return MESSAGE
        found = self.expanded(tokens)
        return f"<{short_name(tokens)}>" if found is None else found

    def expanded(self, tokens):
        """The text of a variable or call that is known."""
        if self.depth > DEPTH:
            return None
        self.depth += 1
        try:
            if len(tokens) == 1 and tokens[0].kind == "name":
                expression = self.lookup(tokens[0].value)
                return None if expression is None else self.text(expression)
            if is_sign(tokens[-1], ")"):
                return self.called(tokens)
            return None
        finally:
            self.depth -= 1

    def called(self, tokens):
        begin = next(i for i, t in enumerate(tokens) if is_sign(t, "("))
        if begin == 0 or end_of(tokens, begin) != len(tokens) - 1:
            return None
        name, arguments = tokens[begin - 1].value, split(tokens[begin + 1:-1], ",")
        if name in ("format", "formatted") and arguments:
            return self.formatted(arguments)
        if name == "str" and begin >= 3:
            expression = self.lookup(tokens[begin - 3].value)
            return None if expression is None else self.text(expression)
        if name == "said_by_one":  # of all ranks
            return self.text(arguments[-1])
        if name == "to_string" and not any(t.kind == "text" for t in arguments[0]):
            return f"<{short_name(arguments[0])}>"
        if name in PASS_ON and len(arguments) == 1:
            return self.text(arguments[0])
        return self.call(name, arguments)

    def formatted(self, arguments):
        """A format with its values, in the order of the placeholders."""
        values = [self.text(argument) for argument in arguments[1:]]
        template = self.text(arguments[0])
        left = iter(values)

        def value(match):
            index = match.group().strip("{}")
            return values[int(index)] if index.isdigit() and int(index) < len(values) else next(left, "<value>")

        text = PLACEHOLDER.sub(value, template)
        return text.replace("{{", "{").replace("}}", "}").replace("%%", "%")


def short_name(tokens):
    """A name for a value: the last name of its expression that is no function."""
    names = []
    for i, token in enumerate(tokens):
        is_call = i + 1 < len(tokens) and is_sign(tokens[i + 1], "(")
        qualifies = i + 1 < len(tokens) and is_sign(tokens[i + 1], "::")
        if token.kind == "name" and not qualifies:
            names.append((token.value.strip("_"), is_call))
    plain = [name for name, is_call in names if not is_call and name not in NO_NAMES]
    calls = [name for name, is_call in names if is_call and name not in PASS_ON]
    name = plain[-1] if plain else calls[0] if calls else "value"
    if len(tokens) > 2 and tokens[-3].value in ("size", "count"):
        name = "number"
    if calls and calls[0] in NAMES:
        name = NAMES[calls[0]]
    if "what" in calls:
        name = "reason"
    if "strerror" in calls or name == "code" or names[-1:] == [("message", True)]:
        name = "reason of the system"
    return name.replace("_", " ").removesuffix(" of").strip()
