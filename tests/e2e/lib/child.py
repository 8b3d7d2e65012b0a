"""child.py: run the test functions of one file, each in a folder of its own.

Called by tests/e2e/run. Prints "ok FILE.function" or "not ok FILE.function", the latter with what
went wrong and the end of the log of every daemon that the function started.
"""

import importlib.util
import os
import sys
import time
import traceback

import harness


def load(path):
    name = os.path.basename(path)[:-3]
    spec = importlib.util.spec_from_file_location("test_" + name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return name, module


def functions(module):
    short = os.environ.get("SINKD_E2E") == "short"
    for name, value in list(vars(module).items()):
        if not name.startswith("test_") or not callable(value):
            continue
        if not short or getattr(value, "short", False):
            yield name[len("test_") :], value


def run_one(label, function):
    folder = os.path.abspath(label.split(".")[1])
    top = os.getcwd()
    os.mkdir(folder)
    os.chdir(folder)
    started = time.monotonic()
    problem = None
    try:
        function()
        harness.finish_all()
    except BaseException:
        problem = traceback.format_exc()
    finally:
        logs = harness.abandon_all()
        os.chdir(top)
    taken = time.monotonic() - started
    if problem is None:
        print("ok %s (%.1f s)" % (label, taken), flush=True)
        return True
    print("not ok %s (%.1f s)" % (label, taken))
    for text in [problem] + logs:
        print("    " + text.rstrip().replace("\n", "\n    "))
    print("    folder: %s" % folder, flush=True)
    return False


def main():
    name, module = load(sys.argv[1])
    results = [run_one("%s.%s" % (name, label), function) for label, function in functions(module)]
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
