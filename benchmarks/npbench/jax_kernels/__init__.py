"""The kernels by JAX. `literal`: the NumPy program statement by statement, its loops as scans that carry whole arrays; `idiomatic`: as one who
knows JAX would write them, where that is another program. Functions return what the kernel changes, then what it returns."""

from . import flows, networks, others, products, solvers, stencils

LITERAL, IDIOMATIC = {}, {}
#: these take the number of their steps, which data decide, as `steps`
COUNTED = ("channel_flow",)
for _family in (products, solvers, stencils, flows, networks, others):
    LITERAL.update(_family.LITERAL)
    IDIOMATIC.update(_family.IDIOMATIC)
