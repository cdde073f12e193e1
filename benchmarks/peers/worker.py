"""One engine in a process of its own: answers the coordinator's requests, a line of JSON each, on the descriptors that it names.

    python -m benchmarks.peers.worker NAME SUITE THREADS IN OUT

`make` (the oracle's), `prepare` and `turn` are the requests. What libraries print goes to the log.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
import time
import traceback
from typing import Any

BATCH_SECONDS = 0.02  # shorter calls are timed together


class Memory:
    """The most memory that this process had resident."""

    @staticmethod
    def _field(name: str) -> int:
        with open("/proc/self/status", encoding="ascii") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith(name))

    def __init__(self):
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        self._before = self._field("VmRSS")

    def restart(self) -> None:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as f:
            f.write("5")

    def peak(self) -> int:
        """Bytes since the last `restart`, less what there was at first."""
        return max(0, self._field("VmHWM") - self._before)


class Worker:
    def __init__(self, spec: Any, threads: int):
        self._engine = spec.make()
        self._engine.start(threads)
        self._call: Any = None
        self._calls, self._once = 1, 0.0

    def prepare(self, path: str) -> dict:
        """Compiles, runs twice, compares the first results with f64."""
        from .cases import agreement, folder

        self._call = None
        case = folder.Folder(path)
        loaded = self._engine.load(case)
        memory = Memory()
        start = time.perf_counter()
        self._call = self._engine.prepare(case, loaded)
        prepared = time.perf_counter() - start
        result = self._call.run()
        first = time.perf_counter() - start
        call = self._call
        error, where = agreement.error(case.expected(), lambda name: call.value(result, name))
        del result
        memory.restart()
        start = time.perf_counter()
        self._call.run()
        once = time.perf_counter() - start
        self._once, self._calls = once, max(1, int(BATCH_SECONDS / max(once, 1e-7)))
        right = error <= case.about["tolerance"]
        return {"compile_seconds": max(prepared, first - once), "error": error, "where": where, "memory": memory.peak(),
                "status": "ok" if right else "wrong", "detail": "" if right else f"{where} is {error:.2g} from {case.oracle}"}  # fmt: skip

    def turn(self, seconds: float) -> dict:
        """Seconds of a call, the mean of each batch of calls."""
        run, calls = self._call.run, self._calls
        batches = []
        gc.collect()
        gc.disable()
        if self._once < seconds:
            run()  # caches and clocks
        end = time.perf_counter() + seconds
        while not batches or time.perf_counter() < end:
            start = time.perf_counter()
            for _ in range(calls):
                run()
            taken = (time.perf_counter() - start) / calls
            batches.append(taken)
            if len(batches) == 1:  # the second call was slower than others, as it may be
                calls = self._calls = max(1, min(4 * calls, int(BATCH_SECONDS / max(taken, 1e-7))))
        gc.enable()
        return {"batches": batches}


def answer(worker: Any, request: dict) -> dict:
    from .engines.base import NotApplicable

    try:
        return getattr(worker, request.pop("do"))(**request)
    except NotApplicable as e:
        return {"status": "not applicable", "detail": str(e)}
    except Exception as e:  # whatever it is, the table says it
        traceback.print_exc()
        lines = str(e).strip().splitlines() or [""]
        return {"status": "failed", "detail": f"{type(e).__name__}: {lines[0]}"[:300]}


class Oracle:
    def names(self, of: str) -> dict:
        if of == "npbench":
            from benchmarks.npbench.cases import CASES

            return {"names": [name for name, case in CASES.items() if not case.reason]}
        from .cases import operators

        return {"names": operators.names()}

    def make(self, key: dict, path: str) -> dict:
        from .cases.key import Key

        key = Key(**key)
        if key.suite == "npbench":
            from . import oracle_npbench as oracle
        else:
            from . import oracle
        return oracle.make(key, path)


def end_with_parent() -> None:
    """A worker that is stopped when the coordinator is killed would never hear of it."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def main() -> None:
    from .engines import of_suite

    end_with_parent()

    name, suite, threads, requests, answers = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    with os.fdopen(requests) as read, os.fdopen(answers, "w") as write:

        def say(message: dict) -> None:
            write.write(json.dumps(message) + "\n")
            write.flush()

        try:
            worker = Oracle() if name == "oracle" else Worker(of_suite(suite)[name], threads)
        except Exception as e:
            traceback.print_exc()
            say({"status": "failed", "detail": f"{type(e).__name__}: {str(e).splitlines()[:1]}"})
            return
        say({"status": "ok"})
        for line in read:
            say(answer(worker, json.loads(line)))


if __name__ == "__main__":
    main()
