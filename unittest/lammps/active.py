"""What the tests of mode active share: the lines of its log, and the frames it has stored."""

import numpy as np

COLUMNS = ("step", "why", "expected", "true", "rms", "learned", "moved_by", "frames", "calls", "jump")


def events(output):
    """[{column: word}] of the event lines in the order of the log, without the seconds at their end."""
    rows = [line.split()[1:] for line in output.splitlines() if line.startswith("dptrain ")]
    return [dict(zip(COLUMNS, row)) for row in rows if row[0].isdigit()]


def decisions(output):
    """What must not depend on rounding."""
    def fate(event):
        return event["learned"] if event["learned"] in ("-", "held_out", "duplicate") else "learned"
    return [(e["step"], e["why"], fate(e), e["moved_by"], e["frames"], e["calls"]) for e in events(output)]


def summary(output, words):
    """First number behind these words of the last summary."""
    text = output[output.rindex(words) + len(words):]
    return float(text.split()[0].rstrip(","))


def stored_frames(path):
    """[{step, held_out, box, coord, type, energy, force, virial, weight, baseline_energy, ...}] of a frames file, None for what a frame does not have; a record that
    was cut off is left out."""
    data, frames = path.read_bytes(), []
    offset = 24 + int(np.frombuffer(data, np.uint32, 1, 16)[0])  # the names of the elements
    while offset + 16 <= len(data):
        size = int(np.frombuffer(data, np.uint64, 1, offset)[0])
        payload = data[offset + 16:offset + 16 + size]
        offset += 16 + size
        if len(payload) < size:
            break
        step, natoms = (int(n) for n in np.frombuffer(payload, np.int64, 2))
        flags, place = int(np.frombuffer(payload, np.uint64, 1, 16)[0]), 24 + 72
        coord = np.frombuffer(payload, np.float64, 3 * natoms, place).reshape(-1, 3)
        types = np.frombuffer(payload, np.int32, natoms, place + 24 * natoms)
        place += 28 * natoms
        frame = {"step": step, "held_out": bool(flags & 16), "box": np.frombuffer(payload, np.float64, 9, 24), "coord": coord, "type": types}
        for name, flag, count in (("energy", 2, 1), ("force", 4, 3 * natoms), ("virial", 8, 9), ("weight", 32, natoms),
                                  ("baseline_energy", 64, 1), ("baseline_force", 64, 3 * natoms), ("baseline_virial", 64, 9)):
            count = count if flags & flag else 0
            frame[name] = np.frombuffer(payload, np.float64, count, place) if count else None
            place += 8 * count
        for part in ("", "baseline_"):
            if frame[part + "energy"] is not None:
                frame[part + "energy"] = float(frame[part + "energy"][0])
            if frame[part + "force"] is not None:
                frame[part + "force"] = frame[part + "force"].reshape(-1, 3)
        frames.append(frame)
    return frames
