"""Whether a message tells what to do, or what is allowed."""

import re

from .expressions import CHOICE, END, MESSAGE, OPTIONAL, OR

INNERMOST = re.compile(f"[{OPTIONAL}{CHOICE}][^{OPTIONAL}{CHOICE}{END}]*{END}")
SPEAKER = re.compile(r"^(?:Pair style|Fix|Compute) dptrain\S*:? |^training data: ")
MAX_VARIANTS = 64

# verbs that begin a clause: after a sign, or after and, or, then, please, instead
VERBS = ("add allow ask begin build change check choose close compute continue convert copy correct define delete divide end "
         "exclude fix free freeze give go increase install keep label leave let list look lower make mend move name omit order "
         "pass put raise rebuild reduce remove rename repair repeat replace report resume run see set shorten split start stop "
         "train try turn unfix unset update upgrade use wait write").split()
BEGINNING = r"(?:^|[:;,.?(] ?|\b(?:and|or|then|please|instead|first|also|else) )"
ORDER = re.compile(BEGINNING + rf"(?:{'|'.join(VERBS)})\b(?! of\b)", re.IGNORECASE)

# what is needed or allowed
RULE = re.compile(r"\b(?:must|needs?|(?:is|are) needed|needed is|requires?|required|expected(?= (?!errors\b))|is expected$|allowed|"
                  r"possible are|known are|there are only|at least|at most"
                  r"|the (?:smallest|largest)|only one|instead of|one of)\b|\bfrom \S+ (?:to|on|up)\b|\bhas only\b")


def variants(text):
    """The text with each choice of its optional parts."""
    done, todo = [], [text]
    while todo and len(done) + len(todo) < MAX_VARIANTS:
        one = todo.pop()
        match = INNERMOST.search(one)
        if not match:
            done.append(one)
            continue
        inner = match.group()[1:-1]
        parts = [""] if match.group()[0] == OPTIONAL else inner.split(OR)
        todo += [one[:match.start()] + part + one[match.end():] for part in parts]
    return done + todo


def has_advice(text):
    """In each of its variants, values aside. One with another message in it has the advice of that one."""
    def tells(one):
        plain = SPEAKER.sub("", re.sub(r"<[^<>]*>", "X", one))
        return MESSAGE in one or ORDER.search(plain) or RULE.search(plain)

    return all(tells(one) for one in variants(text) if one)
