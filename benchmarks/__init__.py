"""Times, side by side with what a user would pick instead.

Every file ``bench_NAME.py`` has a function ``run()`` that prints its tables; ``python -m benchmarks NAME …`` runs
those named, all by default. Timings are noisy: they are the best of several, and what they are compared with runs in
the same process (or in the same way), right beside them.
"""
