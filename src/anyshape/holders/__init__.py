"""What stands around an Executable, compiled or loaded, has in common.

A process that only loads imports it, so that it knows Executables by their types alone.

    passed_on   sizes, memory and reports, passed on to the Executable behind
"""
