"""One BLAS thread for the tests: small matrices gain nothing from more, and waiting threads starve parallel workers."""

import os

for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # read when NumPy is first imported, so this file must not import it
