"""The report: what each stage found, as JSON and text, never larger than a limit, written after each result."""

import itertools
import json
import os
import threading
import time

LARGEST = 1_000_000  # bytes of a file of the report
PASSED, FAILED, TIMED_OUT, NOT_RUN, NO_GPU = "passed", "failed", "timed out", "not run", "no GPU"
CUT_OFF = "cut off"  # begun, and ended because the time of its stage was over
CUT_SHORT = "cut short"  # a stage of which something was cut off or not run
LEGENDS = {"agreement": "differences from the processor's numbers in double, as parts of their root mean square; `processor`: those of "
                        "the processor itself in that precision"}


class Report:
    """Stages in order, each {name, state, seconds, note, items, numbers}; safe to use from several threads."""

    def __init__(self, folder, head, largest=LARGEST):
        """A report beside those that lie in the folder already. Raises OSError where none can be written."""
        self.folder, self.largest = folder, largest
        self.content = {**head, "stages": []}
        self._lock = threading.RLock()
        folder.mkdir(parents=True, exist_ok=True)
        names = (f"gpu-report{f'-{k}' if k > 1 else ''}" for k in itertools.count(1))
        self.name = next(name for name in names if not (folder / f"{name}.json").exists())
        self.write()

    @property
    def text_file(self):
        return self.folder / f"{self.name}.txt"

    def begin(self, name):
        stage = StageReport(self, name)
        with self._lock:
            self.content["stages"].append(stage.content)
        return stage

    def failed(self):
        """Whether anything did, or took longer than it may."""
        return any(stage["state"] == FAILED for stage in self.content["stages"])

    def incomplete(self):
        """Names of the stages that had too little time, or none."""
        return [stage["name"] for stage in self.content["stages"] if stage["state"] in (NOT_RUN, CUT_SHORT)]

    def interrupt(self, why):
        """Says of the stage that runs why it has not ended."""
        if self._lock.acquire(timeout=2.0):
            for stage in self.content["stages"]:
                if stage["state"] == "running":
                    stage["state"] = why
            self.write()
            self._lock.release()

    def without_time(self):
        """Whether there was no time for any stage that could have run."""
        states = {stage["state"] for stage in self.content["stages"]}
        return NOT_RUN in states and states <= {NOT_RUN, NO_GPU}

    def write(self):
        """NAME.json and NAME.txt; each replaces the old one at once."""
        with self._lock:
            content = fitted(self.content, self.largest)
            self._replace(f"{self.name}.json", json.dumps(content, indent=1) + "\n")
            self._replace(f"{self.name}.txt", text_of(content)[:self.largest])

    def _replace(self, name, text):
        temporary = self.folder / (name + ".new")
        temporary.write_text(text)
        os.replace(temporary, self.folder / name)


class StageReport:
    """One stage; each addition writes the report."""

    def __init__(self, report, name):
        self.report = report
        self._begin = time.monotonic()
        self.content = {"name": name, "state": "running", "seconds": 0.0, "note": "", "items": [], "numbers": []}

    def add(self, name, state, seconds=0.0, log="", **facts):
        """A test or program: its state, and where it failed the end of its log."""
        item = {"name": name, "state": state, "seconds": round(seconds, 2), **facts}
        if state in (FAILED, TIMED_OUT):
            item["log"] = log
        self._append("items", item)

    def number(self, **facts):
        """A measured number with what it belongs to."""
        self._append("numbers", facts)

    def end(self, state=None, note=""):
        """Closes the stage; without a state, that of its items counts."""
        states = [item["state"] for item in self.content["items"]]
        if state is None:
            bad = FAILED in states or TIMED_OUT in states
            state = FAILED if bad else CUT_SHORT if {NOT_RUN, CUT_OFF} & set(states) else PASSED
        with self.report._lock:
            self.content.update(state=state, seconds=round(time.monotonic() - self._begin, 1))
            self.content["note"] = "; ".join(filter(None, [self.content["note"], note]))
        self.report.write()

    def _append(self, key, value):
        with self.report._lock:
            self.content[key].append(value)
        self.report.write()


def fitted(content, largest):
    """The content with logs shortened, and at last names left out, until its JSON is within `largest` bytes."""
    size = lambda value: len(json.dumps(value, indent=1)) + 1  # noqa: E731
    if size(content) <= largest:
        return content
    content = json.loads(json.dumps(content))
    items = [item for stage in content["stages"] for item in stage["items"]]
    for length in (2000, 1000, 500, 200, 50, 0):
        for item in items:
            if len(item.get("log", "")) > length:
                item["log"] = "[...] " + item["log"][-length:] if length else "left out: the report is full"
        if size(content) <= largest:
            return content
    for item in items:
        for key in ("passed", "skipped", "failed"):
            if isinstance(item.get(key), list):
                item[key] = len(item[key])
    while size(content) > largest and items:
        stage = max(content["stages"], key=lambda s: len(s["items"]))
        stage["note"] = "items left out: the report is full"
        del stage["items"][len(stage["items"]) // 2:]
        items = [item for s in content["stages"] for item in s["items"]]
    return content


def count(value):
    return len(value) if isinstance(value, list) else value


def failures(stage, most=20):
    """A line for each item of a stage that failed, with the names of some of its cases."""
    bad = [item for item in stage["items"] if item["state"] in (FAILED, TIMED_OUT)]
    for item in bad[:most]:
        cases = item["failed"] if isinstance(item.get("failed"), list) else []
        more = f" and {len(cases) - 3} more" if len(cases) > 3 else ""
        yield f"{item['state']}: {item['name']}{': ' if cases else ''}{', '.join(cases[:3])}{more}"
    if len(bad) > most:
        yield f"and {len(bad) - most} more"


def plain(value):
    """A value of the head without the marks of JSON."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {plain(entry)}" for key, entry in value.items())
    return "; ".join(map(plain, value)) if isinstance(value, list) else str(value)


def item_text(item):
    """One line, and the log of what failed."""
    counts = ", ".join(f"{count(item[key])} {key}" for key in ("passed", "failed", "skipped") if count(item.get(key)))
    yield f"  {item['state']:10s} {item['name']}  ({item['seconds']:.1f} s{'; ' + counts if counts else ''})"
    if item.get("note"):
        yield f"             {item['note']}"
    if isinstance(item.get("failed"), list):
        yield from (f"             failed: {name}" for name in item["failed"])
    if item.get("log"):
        yield from ("    | " + line for line in item["log"].splitlines())


def cell(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def number_tables(numbers):
    """Numbers of one kind are a table."""
    for what in dict.fromkeys(number["what"] for number in numbers):
        rows = [number for number in numbers if number["what"] == what]
        keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key != "what"]
        cells = [keys] + [[cell(row.get(key, "")) for key in keys] for row in rows]
        widths = [max(len(line[k]) for line in cells) for k in range(len(keys))]
        yield from ["", f"  {what}{': ' if what in LEGENDS else ''}{LEGENDS.get(what, '')}:"]
        yield from ("    " + "  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in cells)


def text_of(content):
    """The report for readers: the summary first."""
    lines = ["gpu-check: report", ""]
    lines += [f"{key}: {plain(value)}" for key, value in content.items() if key != "stages" and value != []]
    lines += ["", "stage        state       seconds"]
    for stage in content["stages"]:
        lines.append(f"{stage['name']:12s} {stage['state']:12s}{stage['seconds']:6.1f}"
                     + (f"  {stage['note']}" if stage["note"] else ""))
    failed = [f"{stage['name']}: {line}" for stage in content["stages"] for line in failures(stage)]
    lines += ["", "what failed:", *failed] if failed else []
    for stage in content["stages"]:
        lines += ["", f"{stage['name']}: {stage['state']}"]
        for item in stage["items"]:
            lines += item_text(item)
        lines += number_tables(stage["numbers"])
    return "\n".join(lines) + "\n"
