"""Which questions are asked: all of them, and more of those that are sometimes answered right."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from training.chooser import LEAST, Chooser

ALWAYS = "always right"
NEVER = "never right"
SOMETIMES = "sometimes right"


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=20),
    st.integers(0, 5),
    st.data(),
)
def test_each_question_has_its_turn(kinds, seed, data):
    """None twice in a step, and none of a kind again before the others."""
    fits = data.draw(st.sets(st.integers(0, len(kinds) - 1), min_size=1))
    chooser, again = (Chooser(kinds, seed, fits.__contains__) for _ in range(2))
    asked = Counter()
    for _ in range(10):
        count = data.draw(st.integers(1, len(fits)))
        chosen = chooser.choose(count)
        assert chosen == again.choose(count)
        assert len(set(chosen)) == count
        assert set(chosen) <= fits
        asked.update(chosen)
        for kind in set(kinds):
            turns = [asked[number] for number in fits if kinds[number] == kind]
            assert max(turns, default=0) - min(turns, default=0) <= 1
        for number in chosen:
            answers = data.draw(st.lists(st.booleans(), min_size=1, max_size=4))
            chooser.learn(number, answers)
            again.learn(number, answers)


def test_what_is_sometimes_right_is_asked_more_often():
    kinds = [ALWAYS] * 30 + [NEVER] * 30 + [SOMETIMES] * 30
    right = {ALWAYS: [True] * 8, NEVER: [False] * 8, SOMETIMES: [True, False] * 4}
    chooser = Chooser(kinds, 0, lambda _: True)
    asked = Counter()
    for step in range(300):
        for number in chooser.choose(6):
            chooser.learn(number, right[kinds[number]])
            asked[kinds[number]] += step >= 100
    more = (0.25 + LEAST) / LEAST
    for kind in (ALWAYS, NEVER):
        assert more / 1.5 < asked[SOMETIMES] / asked[kind] < more * 1.5


def test_a_kind_that_is_learnt_is_asked_less_often():
    kinds = ["a"] * 30 + ["b"] * 30
    chooser = Chooser(kinds, 0, lambda _: True)
    late = Counter()
    for step in range(200):
        for number in chooser.choose(4):
            is_learnt = step >= 50 and kinds[number] == "a"
            chooser.learn(number, [True] * 8 if is_learnt else [True, False] * 4)
            late[kinds[number]] += step >= 100
    assert late["b"] > 3 * late["a"]


def test_too_few_questions():
    chooser = Chooser(["a", "b", "a"], 0, lambda number: number != 1)
    assert sorted(chooser.choose(2)) == [0, 2]
    with pytest.raises(ValueError, match=r"^2 questions fit, 3 are to be asked$"):
        chooser.choose(3)
