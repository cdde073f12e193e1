"""Runs a program that may be instrumented. LeakSanitizer stops every thread by ptrace when the program ends; on a busy machine
that fails now and then, and it dies of it: that says nothing about the program, which is run again."""

import subprocess

DIED = b"LeakSanitizer has encountered a fatal error"
ATTEMPTS = 3


def run(command, **options):
    """subprocess.run with the output captured; an error when LeakSanitizer died every time."""
    for _ in range(ATTEMPTS):
        done = subprocess.run(command, capture_output=True, **options)
        if DIED not in done.stderr:
            return done
    raise AssertionError(f"LeakSanitizer itself died {ATTEMPTS} times in a row: is ptrace allowed here? {done.stderr[-1000:].decode(errors='replace')}")
