"""Measures one case: a process for each engine, which take turns. While one works, all others are stopped (SIGSTOP), so that no
engine's threads or allocator are in another's way."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Any, Iterable

from .cases.key import Key
from .engines import of_suite
from .environment import Environment, EnvironmentFailure

Answer = dict[str, Any]


class Process:
    """A worker. Every request has a time limit; one that is over it is killed, with all that it started."""

    def __init__(self, name: str, suite: str, threads: int, environment: Environment, scratch: str, variables: dict[str, str], venv: str):
        self.name = name
        to_worker, self._requests = os.pipe()
        self._answers, from_worker = os.pipe()
        self._buffer = b""
        command = [environment.python(venv), "-m", "benchmarks.peers.worker", name, suite, str(threads), str(to_worker), str(from_worker)]
        with open(os.path.join(scratch, f"{name}.log"), "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(to_worker, from_worker), start_new_session=True,
                env={**environment.variables(threads, os.path.join(scratch, name)), **variables})  # fmt: skip
        os.close(to_worker)
        os.close(from_worker)

    def ask(self, limit: float, **request: Any) -> Answer:
        """Lets it work until it answers, then stops it again."""
        try:
            if request:
                os.write(self._requests, json.dumps(request).encode() + b"\n")
            self._signal(signal.SIGCONT)
            answer = self._line(limit)
            self._signal(signal.SIGSTOP)
        except OSError:
            answer = None
        if answer is None:
            code = self._process.poll()
            self.end()
            ended = f"the process ended with {code}" if code is not None else f"no result within {limit:.0f} s"
            return {"status": "failed", "detail": ended}
        return {"status": "ok", **answer}

    def _line(self, limit: float) -> Answer | None:
        end = time.monotonic() + limit
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0, end - time.monotonic()))
            data = os.read(self._answers, 1 << 16) if ready else b""
            if not data:
                if ready:
                    self._process.wait()
                return None
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)

    @property
    def lives(self) -> bool:
        return self._requests >= 0

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass

    def end(self) -> None:
        self._signal(signal.SIGKILL)
        self._process.wait()
        for descriptor in (self._requests, self._answers):
            try:
                os.close(descriptor)
            except OSError:
                pass
        self._requests = self._answers = -1


class Coordinator:
    """`turns` of `seconds` for each engine of a case. `limit`: seconds for an engine to compile and check one case."""

    def __init__(self, environment: Environment, turns: int, seconds: float, limit: float, only: Iterable[str] = ()):
        self._environment, self._turns, self._seconds, self._limit = environment, turns, seconds, limit
        self._only = set(only)
        self._scratch = tempfile.mkdtemp(prefix="headrace-peers-")
        self._kept: dict[tuple, Process] = {}  # processes that serve more than one case
        self._case: tuple[Any, str, Answer] | None = None

    def close(self) -> None:
        for process in self._kept.values():
            process.end()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def measure(self, key: Key) -> Answer:
        """{"flops", "bytes", "engines": {name: …}}, as rows.py keeps it."""
        path, made = self._made(key)
        if made["status"] != "ok":
            return {"flops": 0, "bytes": 0, "engines": {}, "detail": "no case: " + made["detail"]}
        specs = [s for s in of_suite(key.suite).values() if s.measures(key.mode, key.dtype) and (not self._only or s.name in self._only)]
        results: dict[str, Answer] = {}
        ready: dict[str, Process] = {}
        for spec in specs:
            process, answer = self._started(spec, key)
            if answer["status"] == "ok":
                answer = process.ask(self._limit, do="prepare", path=path)
            results[spec.name] = answer
            if answer["status"] == "ok":
                answer["turns"] = []
                ready[spec.name] = process
            elif process and key.suite != "ops":
                process.end()
        if key.suite != "compile":
            self._take_turns(ready, results)
        if key.suite != "ops":  # there, starting takes longer than measuring
            for process in ready.values():
                process.end()
        return {"flops": made.get("flops", 0), "bytes": made.get("bytes", 0), "engines": results}

    def names(self, suite: str) -> list[str]:
        """Of the operators or kernels of a suite."""
        answer = self._oracle(suite, 120, do="names", of=suite)
        if answer["status"] != "ok":
            raise EnvironmentFailure(answer["detail"])
        return answer["names"]

    def _oracle(self, suite: str, limit: float, **request: Any) -> Answer:
        process = Process("oracle", suite, self._environment.processors, self._environment, self._scratch, {}, "peers")
        answer = process.ask(120)
        if answer["status"] == "ok":
            answer = process.ask(limit, **request)
        process.end()
        return answer

    def _take_turns(self, ready: dict[str, Process], results: dict[str, Answer]) -> None:
        for turn in range(self._turns):
            order = list(ready) if turn % 2 == 0 else list(reversed(ready))
            for name in order:
                answer = ready[name].ask(self._limit, do="turn", seconds=self._seconds)
                if answer["status"] == "ok":
                    results[name]["turns"].append(answer["batches"])
                else:
                    results[name] = answer
                    ready.pop(name).end()

    def _made(self, key: Key) -> tuple[str, Answer]:
        """The case's folder, made by the oracle; the last one is kept: f32 and bf16 follow each other."""
        same = (key.suite == "compile" and "models" or key.suite, key.name, key.size, key.mode)
        if self._case is None or self._case[0] != (same, key.dtype):
            path = os.path.join(self._scratch, "case")
            shutil.rmtree(path, ignore_errors=True)
            answer = self._oracle(key.suite, 900, do="make", key=vars(key), path=path)
            self._case = (same, key.dtype), path, answer
        return self._case[1], self._case[2]

    def _started(self, spec: Any, key: Key) -> tuple[Process | None, Answer]:
        which = (spec.name, key.suite, key.threads)
        if (process := self._kept.get(which)) and process.lives:
            return process, {"status": "ok"}
        caches = os.path.join(self._scratch, spec.name)
        shutil.rmtree(caches, ignore_errors=True)  # nothing is compiled before it is measured
        os.makedirs(caches)
        try:
            process = Process(spec.name, key.suite, key.threads, self._environment, self._scratch, dict(spec.environment), spec.venv)
        except EnvironmentFailure as e:
            return None, {"status": "failed", "detail": str(e)}
        if key.suite == "ops":
            self._kept[which] = process
        return process, process.ask(120)
