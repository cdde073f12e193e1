"""Gradients through loops and changed arrays: finding the initial heat of a rod from what it is later. Needs NumPy alone.

    python examples/numpy_gradients.py
"""

import numpy as np

import headrace

STEPS, SIZE = 60, 64


@headrace.program
def misfit(start, measured):
    """How far the heat after STEPS steps is from what was measured."""
    heat = start.copy()
    for t in range(STEPS):
        heat[1:-1] = heat[1:-1] + 0.2 * (heat[2:] - 2 * heat[1:-1] + heat[:-2])
    return np.sum((heat - measured) ** 2)


def after(start):
    """The heat after STEPS steps, by NumPy."""
    heat = start.copy()
    for _ in range(STEPS):
        heat[1:-1] = heat[1:-1] + 0.2 * (heat[2:] - 2 * heat[1:-1] + heat[:-2])
    return heat


place = np.linspace(0, 1, SIZE)
truth = np.exp(-((place - 0.3) / 0.1) ** 2) + 0.5 * np.exp(-((place - 0.7) / 0.05) ** 2)
measured = after(truth)

# The gradient of a program with a loop is a program with the loop backwards.
gradient = headrace.value_and_grad(misfit)
guess = np.zeros(SIZE)
for k in range(400):
    value, slope = gradient(guess, measured)
    if k == 0:
        first = value
    guess -= 0.3 * slope
print(f"misfit {first:.3g} before, {value:.3g} after 400 steps")
assert value < 1e-3 * first

# It is right: against differences, in one direction.
direction = np.random.default_rng(0).standard_normal(SIZE)
eps = 1e-6
difference = (misfit(guess + eps * direction, measured) - misfit(guess - eps * direction, measured)) / (2 * eps)
along = gradient(guess, measured)[1] @ direction
np.testing.assert_allclose(along, difference, rtol=1e-5, atol=1e-7)
print(f"slope in a random direction: {along:.6e}, by differences {difference:.6e}")

# Second derivatives compose: the curvature in that direction, of a quadratic function its energy after STEPS steps, twice.
curvature = headrace.hvp(misfit, (guess, measured), direction) @ direction
np.testing.assert_allclose(curvature, 2 * np.sum(after(direction) ** 2), rtol=1e-9)
print(f"curvature in that direction: {curvature:.6f}")


# Memory: what the backward pass needs is kept, or computed again where a limit says so.
@headrace.program
def layers(x):
    for _ in range(12):
        x = np.sin(x) * np.exp(-x * x)
    return np.sum(x)


x = np.linspace(0, 1, 100_000)
for limit in (None, 8_000_000):
    by_x = headrace.grad(layers, memory_limit=limit)
    slope = by_x(x)
    report = by_x.report()
    print(f"limit {limit}: {len(report['stored'])} arrays kept, {len(report['recomputed'])} computed again, "
          f"{report['peak_bytes'] / 1e6:.1f} MB at the peak")
    assert limit is None or report["peak_bytes"] <= limit
