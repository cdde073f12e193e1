"""The memory of results: whose it is, when it is let go of, and that large results find their predecessors' pages."""

import gc
import threading
import unittest
import weakref

from python.tests.case import Case, headrace, np

LARGE = 1 << 19  # elements of f32: 2 MiB


def doubled(a):
    return 2 * a


def address(array):
    return array.__array_interface__["data"][0]


class Results(Case):
    def setUp(self):
        gc.disable()
        self.addCleanup(gc.enable)

    def test_are_gone_with_their_last_name(self):
        for structure in (lambda a: 2 * a, lambda a: (2 * a, {"b": [a + 1]})):
            program = headrace.program(structure)
            for n in (3, LARGE):
                result = program(np.ones(n, np.float32))
                first = weakref.ref(result[0] if isinstance(result, tuple) else result)
                del result
                self.assertIsNone(first())

    def test_large_ones_take_the_place_of_those_before(self):
        program = headrace.program(doubled)
        a = np.arange(LARGE, dtype=np.float32)
        y = program(a)
        place = address(y)
        del y
        y = program(a)
        self.assertEqual(address(y), place)
        self.assertTrue(y.flags.writeable and y.flags.c_contiguous and y.flags.aligned)
        np.testing.assert_array_equal(y, 2 * a)

    def test_never_of_one_that_is_alive(self):
        program = headrace.program(doubled)
        held = [program(np.full(LARGE, k, np.float32)) for k in range(4)]
        part = held[1][7:9]  # a view keeps its memory
        del held[1]
        more = [program(np.full(LARGE, 10 + k, np.float32)) for k in range(3)]
        self.assertEqual(len({address(y) for y in held + more}), 6)
        for y, k in zip(held + more, (0, 2, 3, 10, 11, 12)):
            self.assertTrue((y == 2 * k).all())
        np.testing.assert_array_equal(part, [2, 2])

    def test_of_other_sizes_and_types(self):
        program = headrace.program(doubled)
        for dtype in (np.float32, np.float64, np.int32, np.complex64, np.float32):
            for n in (LARGE, LARGE + 3, 2 * LARGE, LARGE):
                a = np.arange(n).astype(dtype)
                np.testing.assert_array_equal(program(a), 2 * a)

    def test_outlive_their_program(self):
        program = headrace.program(doubled)
        y = program(np.ones(LARGE, np.float32))
        del program
        gc.collect()
        self.assertTrue((y == 2).all())

    def test_from_many_threads(self):
        program = headrace.program(doubled)
        wrong = []

        def work(k):
            for i in range(20):
                y = program(np.full(LARGE, 100 * k + i, np.float32))
                if not (y == 2 * (100 * k + i)).all():
                    wrong.append((k, i))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_what_is_given_back_as_an_argument_is_not_written(self):
        program = headrace.program(doubled)
        y = np.ones(LARGE, np.float32)
        for k in range(1, 5):
            y = program(y)
            self.assertTrue((y == 2**k).all())


if __name__ == "__main__":
    unittest.main()
