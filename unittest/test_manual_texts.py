"""What the manual says of the program is true: keywords, defaults and messages are those of the sources."""

import re

import pytest
from manual_sources import csv_rows, literals, page, printed, source, table_rows


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


def keyword_rows():
    """Rows of the tables of keywords of fix dptrain: name of the keyword, its cells."""
    text = page("fix_dptrain").split(".. _fix_dptrain_keywords:")[1].split(".. _fix_dptrain_labels:")[0]
    rows = csv_rows(text)
    return [(re.match(r"\*\*(\w+)\*\*", row[0]).group(1), row) for row in rows]


# keyword, file of the sources, what stands before its default: those that the program's table does not take from the options
DEFAULTS = [("train", "lib/dptrain/include/dptrain/session/learning_options.h", "steps"),
            ("batch", "lib/dptrain/include/dptrain/input/config.h", "batch_size"),
            ("seed", "lib/dptrain/include/dptrain/input/config.h", "uint64_t seed"),
            ("timeout", "lib/dptrain/src/parallel/watchdog.cpp", "default_timeout")]


@pytest.mark.parametrize("keyword, file, name", DEFAULTS)
def test_defaults_are_those_of_the_sources(keyword, file, name):
    told = next(row[1] for found, row in keyword_rows() if found == keyword)
    true = re.search(rf"\b{name} =\s*([-\d.e]+)", source(file)).group(1)
    assert float(told.split(",")[0]) == float(true)


@pytest.mark.parametrize("file, option, name", [
    ("program_options.h", "timeout", "timeout"), ("program_options.h", "wait", "wait"), ("program_options.h", "retries", "retries")])
def test_defaults_of_the_socket(file, option, name):
    told = next(row[1] for row in csv_rows(page("fix_dptrain")) if row[0].startswith(f"*{option}* ") and len(row) == 3)
    assert float(told) == float(re.search(rf"\b{name} = ([\d.]+)", source(f"src/USER-DPTRAIN/reference/{file}")).group(1))


def test_the_output_table_has_all_numbers():
    size = int(re.search(r"NUM_FIX_OUTPUTS = (\d+)", source("src/USER-DPTRAIN/styles/fix_dptrain_output.h")).group(1))
    text = page("fix_dptrain").split("The vector holds")[1].split("Those with (a)")[0]
    assert [int(row[0].split()[0]) for row in csv_rows(text)] == list(range(1, size + 1))
    assert f"global vector of length {size}" in page("fix_dptrain")
