"""Random traces without Hypothesis, for runs of millions: a seed a trace, no shrinking."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

__all__ = ["random_json_trace"]

_KINDS = ("GetSBlock", "GetLoops", "SamplePerfectTile", "Split", "Bind", "Annotate", "odd kind", "")
_TEXTS = ("main", "None", "b0", "l1", '"', '""', '"None"', "{}", "", "C.local", " | ", " -> b = ")
_ALPHABET = 'ab"\\ \n\t|=->@[]{}:.0123b-l-v\x00\x7f\x85\u2028\u202eé\ud800\udc00\U0001f600'


def random_json_trace(random: Random) -> list[Any]:
    """A JSON value with the shape of a trace; the same for the same state of the generator.

    >>> random_json_trace(Random(1)) == random_json_trace(Random(1))
    True
    """
    names: list[str] = []
    insts: list[Any] = []
    for _ in range(random.choice((0, 1, 2, 3, 5, 8, 13))):
        inputs = [_input(random, names) for _ in range(random.choice((0, 1, 1, 2, 4)))]
        attrs = [_value(random) for _ in range(random.choice((0, 0, 1, 1, 3)))]
        outputs = _outputs(random, len(names))
        names += outputs
        insts.append([_kind(random), inputs, attrs, outputs])
    return [insts, _decisions(random, len(insts))]


def _kind(random: Random) -> str:
    return random.choice(_KINDS) if random.random() < 0.95 else _text(random)


def _outputs(random: Random, first: int) -> list[str]:
    outputs: list[str] = []
    for _ in range(random.choice((0, 1, 1, 2))):
        if random.random() < 0.05:
            outputs.append(random.choice(_TEXTS))
            continue
        letter = random.choice("blv")
        for _ in range(random.choice((1, 1, 2, 4, 11))):
            outputs.append(f"{letter}{first + len(outputs)}")
    return outputs


def _decisions(random: Random, length: int) -> list[Any]:
    indices = [index for index in range(length) if random.random() < 0.3]
    if random.random() < 0.1:
        indices += [random.randint(-2, length + 2), random.getrandbits(70)]
        random.shuffle(indices)
    return [[index, _value(random)] for index in indices]


def _input(random: Random, names: list[str], depth: int = 0) -> Any:
    chance = random.random()
    if names and chance < 0.6:
        return random.choice(names)
    if chance < 0.75:
        return f'"{_text(random)}"'
    if chance < 0.85 and depth < 3:
        return [_input(random, names, depth + 1) for _ in range(random.randint(0, 3))]
    return _value(random, depth)


def _value(random: Random, depth: int = 0) -> Any:
    chance = random.random()
    if chance < 0.4:
        return random.randint(-2, 64)
    if chance < 0.6:
        return _text(random)
    if chance < 0.7:
        return random.choice((None, True, False, 0, 1, 0.0, -0.0, 1.0, float("inf"), float("nan")))
    if chance < 0.8:
        return struct.unpack("<d", random.randbytes(8))[0]
    if chance < 0.85:
        return random.choice((-1, 1)) * random.getrandbits(random.choice((8, 63, 64, 65, 200)))
    if depth > 2:
        return None
    items = [_value(random, depth + 1) for _ in range(random.randint(0, 3))]
    return items if chance < 0.95 else {_text(random): item for item in items}


def _text(random: Random) -> str:
    if random.random() < 0.6:
        return random.choice(_TEXTS)
    return "".join(random.choices(_ALPHABET, k=random.randint(0, 8)))
