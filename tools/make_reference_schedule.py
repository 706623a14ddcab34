#!/usr/bin/env python3
"""Makes unittest/reference/schedule/expected.json: learning rates of DeePMD-kit's classes for a grid of settings.

usage: python tools/make_reference_schedule.py
"""
import itertools

from make_reference_common import REFERENCE, provenance, write_json
from deepmd.dpmodel.utils.learning_rate import make_learning_rate_schedule


def settings():
    """Sections `learning_rate` and the length of the training."""
    warmups = [{}, dict(warmup_steps=7), dict(warmup_ratio=0.13, warmup_start_factor=0.2)]
    stops = [dict(stop_lr=1e-5), dict(stop_lr_ratio=0.03)]
    forms = [dict(type="cosine")]
    forms += [dict(type="exp", decay_steps=steps, smooth=smooth) for steps in (5, 60, 5000) for smooth in (False, True)]
    forms += [dict(type="exp", decay_steps=20, decay_rate=0.9, smooth=smooth) for smooth in (False, True)]
    forms += [dict(type="exp", decay_steps=400, decay_rate=0.5)]
    forms += [dict(type="wsd", decay_type=kind, decay_phase_ratio=ratio) for kind in ("inverse_linear", "cosine", "linear") for ratio in (0.1, 0.35, 1.0)]
    forms += [dict(type="wsd", decay_phase_ratio=0.001)]
    lengths = itertools.cycle((100, 253, 1300))
    for form, warmup, stop in itertools.product(forms, warmups, stops):
        yield dict(start_lr=2e-3, **form, **warmup, **stop), next(lengths)
    yield dict(type="exp", start_lr=1e-3, stop_lr=0.0, decay_steps=10), 200
    yield dict(type="cosine", start_lr=1e-3, stop_lr=0.0), 200
    yield dict(type="exp", start_lr=1e-3, stop_lr=1e-8), 0


def main():
    cases = []
    for section, numb_steps in settings():
        schedule = make_learning_rate_schedule(section, numb_steps)
        steps = sorted({0, 1, 3, 7, 12, 13, 30, 59, 60, 61, 77, 90, 99, 100, 101, 200, 252, 253, 777, 1170, 1200, 1299, 1300, 2000})
        steps = [k for k in steps if k <= numb_steps + 1 or k == 2000]
        cases.append(dict(learning_rate=section, numb_steps=numb_steps, steps=steps, rates=[schedule.value(k) for k in steps]))
    folder = REFERENCE / "schedule"
    folder.mkdir(exist_ok=True)
    write_json(folder / "expected.json", dict(case="schedule", **provenance(), cases=cases))
    print(len(cases), "settings")


if __name__ == "__main__":
    main()
