"""The rooms of the core lie in layers: each includes its own headers and those of rooms before it."""
import re
import sys
import unittest

LAYERS = ["base", "expr", "graph", "text", "analysis", "verify", "elaborate", "registry"]
FILES = sys.argv[1:]


class Rooms(unittest.TestCase):
    def test_includes_point_downwards(self):
        self.assertGreater(len(FILES), 60)
        for path in FILES:
            room = path.split("/")[-2]
            if room == "ir" or re.search("_test|testing|_fuzz", path):
                continue  # what plugins include; tests may use anything
            with open(path) as f:
                for other in re.findall(r'#include "ir/(\w+)/', f.read()):
                    self.assertLessEqual(LAYERS.index(other), LAYERS.index(room), f"{path} includes ir/{other}/")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
