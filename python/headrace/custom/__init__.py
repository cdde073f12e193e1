"""Ops, implementations and backward rules from Python, and plugins that bring such."""
