"""The command that checks the laws on millions of random traces."""

import pytest

from tracescript.testing import __main__ as command


def test_it_counts_traces(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["fuzz", "--traces", "700", "--first", "3", "-j", "1"])
    command.main()
    assert capsys.readouterr().out.startswith("700 traces, ")


def test_it_shows_how_far_it_is_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["fuzz", "--traces", "5", "-j", "1"])
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    command.main()
    assert capsys.readouterr().err == "\r5 traces\n"


def test_it_names_the_seed_of_a_broken_law(monkeypatch):
    def broken(_):
        raise AssertionError

    monkeypatch.setattr("sys.argv", ["fuzz", "--traces", "5", "--first", "41", "-j", "1"])
    monkeypatch.setattr(command, "check_trace_laws", broken)
    with pytest.raises(AssertionError, match="a law is broken for the trace of seed 41"):
        command.main()
