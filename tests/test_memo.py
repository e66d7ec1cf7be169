"""The memo: as its function, but bounded, and without what could be changed."""

import pytest

from tracescript._memo import Memo


def test_it_remembers_short_texts():
    calls = []
    memo = Memo(lambda text: calls.append(text) or len(text), longest=3)
    assert [memo[text] for text in ("abc", "abc", "abcd", "abcd", "{", "{")] == [3, 3, 4, 4, 1, 1]
    assert calls == ["abc", "abcd", "abcd", "{", "{"]


def test_it_forgets_when_it_is_full():
    memo = Memo(int)
    for number in range(10_000):
        assert memo[str(number)] == number
        assert len(memo) <= 4096


def test_it_does_not_remember_what_was_raised():
    memo = Memo(int)
    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            memo["x"]
    assert not memo
