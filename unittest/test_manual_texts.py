"""What the manual says of the program is true: keywords, defaults and messages are those of the sources."""

import re

import pytest
from manual_sources import PAGES, ROOT, literals, page, printed, table_rows


@pytest.fixture(scope="module")
def texts():
    return literals()


def test_messages_of_troubleshooting_are_printed(texts):
    own, lammps = page("Troubleshooting_dptrain").split("Messages of LAMMPS itself")
    messages = [row[0].strip("`") for row in table_rows(own) if row[0].startswith("``")]
    assert len(messages) > 60
    unknown = [message for message in messages if not printed(message, texts)]
    assert not unknown, "\n".join(unknown)
    assert [row[0] for row in table_rows(lammps) if row[0].startswith("``")]


def test_a_message_that_nobody_prints_is_found(texts):
    assert printed("Lost atoms: ... expected, ... there: what is left is no configuration to learn from", texts)
    assert not printed("Lost atoms: ... expected, ... there: what is left is learned from", texts)
    assert not printed("...", texts)
