"""numpy-style functions → IR text."""
