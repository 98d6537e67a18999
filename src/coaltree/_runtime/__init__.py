"""What every room stands on: compiling, random streams, BLAS threads, memory, progress, archives, argument checks."""
