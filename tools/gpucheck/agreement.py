"""Stage agreement: energies, forces, virial, gradient and 20 Adam steps beside the numbers of a processor."""

import json
import math

from . import logs, plan
from .process import Job, run_within
from .report import FAILED, NOT_RUN, PASSED
from .tests import state_of

STEPS = 20


def command(program, folder, data):
    """Words that compute the numbers of a case: the same here and where the kit is made."""
    return [program, folder / "input.json", folder / "model.dp", data, STEPS]


def lines_of(text):
    """{precision: numbers} from the output of the program `agreement`."""
    found = {}
    for line in text.splitlines():
        if line.startswith("{"):
            entry = json.loads(line)
            found[entry.pop("precision")] = entry
    return found


def difference(found, expected):
    """Largest difference of the samples, as a part of the root of the mean square of the expected numbers."""
    if found["size"] != expected["size"] or len(found["sample"]) != len(expected["sample"]):
        return math.inf
    pairs = list(zip(found["sample"], expected["sample"]))
    if not all(x is not None and math.isfinite(x) for x, _ in pairs):
        return math.inf
    largest = max(abs(a - b) for a, b in pairs)
    return largest / expected["rms"] if expected["rms"] > 0 else largest


def compare(found, expected, precision):
    """[(quantity, difference, tolerance)]; expected: the processor's numbers in double."""
    return [(name, difference(found[name], expected[name]), tolerance)
            for name, tolerance in plan.TOLERANCES[precision].items()]


def note_case(stage, net, precision, found, expected):
    rows = compare(found, expected["double"], precision)
    special = plan.OF_NETS.get(net, {}).get(precision, {})
    own = {name: value for name, value, _ in compare(expected[precision], expected["double"], precision)}
    # where the gradient nearly vanishes, or SOAP divides by it, the rounding of fewer digits is all that there is on a processor, too
    rows = [(name, value, max(special.get(name, tolerance), plan.OF_PROCESSOR * own[name])) for name, value, tolerance in rows]
    for name, value, tolerance in rows:
        stage.number(what="agreement", net=net, precision=precision, quantity=name, difference=value, allowed=tolerance,
                     processor=own[name])
    bad = [f"{name}: {value:.2e}, allowed {tolerance:.0e}" for name, value, tolerance in rows if not value <= tolerance]
    stage.add(f"{net}, {precision}", FAILED if bad else PASSED, log="\n".join(bad))


def stage(stage, target, clock):
    for folder in sorted((target.kit / "data" / "nets").iterdir()):
        net = folder.name
        expected = lines_of((folder / "expected.jsonl").read_text())
        job = Job(net, command(target.program("agreement"), folder, target.kit / "data" / "water"), 90.0)
        outcome = run_within(job, target.work, target.environment(), clock)
        if outcome is None:
            stage.add(net, NOT_RUN)
            continue
        found = lines_of(outcome.output)
        for precision in plan.PRECISIONS:
            if precision in found:
                note_case(stage, net, precision, found[precision], expected)
        if not outcome.ok:
            stage.add(net, state_of(outcome), outcome.seconds, logs.end_of(outcome.output))
    stage.end()
