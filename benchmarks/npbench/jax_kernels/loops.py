"""Masks that stand for slices whose bounds a loop changes."""

import jax.numpy as jnp


def below(n: int, end):
    """[:end] of n elements."""
    return jnp.arange(n) < end


def from_on(n: int, begin):
    """[begin:] of n elements."""
    return jnp.arange(n) >= begin
