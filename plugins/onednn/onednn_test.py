"""Each function of the plugin against the op's own form: many nodes in one model. usage: onednn_test.py DRIVER PLUGIN"""

import os
import sys
import unittest

from plugins.kernels import testing


class Onednn(testing.Comparison, unittest.TestCase):
    DRIVER, PLUGIN = (os.path.abspath(p) for p in sys.argv[1:3])
    NAME = "onednn"

    def test_convolutions_and_pools(self):
        self.compare(testing.convolutions(), {"onednn_conv": len(testing.CONVOLUTIONS) + 2, "onednn_pool": 4})

    def test_products_and_rows(self):
        self.compare(testing.products(), {"onednn_product": 5, "onednn_batched_product": 1, "onednn_softmax": 2, "onednn_layer_norm": 1})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
