"""vectors.py: read the data files under tests/vectors."""

import json
import os

FOLDER = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "vectors"))


def rows(name):
    """The rows of a .jsonl file."""
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def exceptions(name):
    """A list of exceptions: {id: [word, ...]}; empty lines and comments (#) are skipped."""
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {words[0]: words[1:] for words in lines}
