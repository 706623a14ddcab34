"""A reference that takes its time, for the part `asynchronous`: `dptrain client --calculator dpbench.slow_teacher.SlowTeacher:...`."""

import time

from dptrain.ase import Calculator


class SlowTeacher(Calculator):
    """A model file as the reference, each of whose calculations takes so many seconds more, asleep."""

    def __init__(self, model, seconds):
        super().__init__(model)
        self.seconds = seconds

    def calculate(self, *words, **options):
        time.sleep(self.seconds)
        super().calculate(*words, **options)
