"""What `anyshape` does on a command line.

app       the commands and their arguments; errors as messages and exit codes
models    what MODEL is, and arrays for it
sizes     sizes as they are written
measure   timings of `bench`; peers: of other engines; doctor, opt: what these commands run
"""
