"""Common tools: compiling, random streams, threads, memory, progress, files, argument checks, formatting."""
