"""Lines that come back from a tokenizer are counted, and the first that does not is shown."""

from data_prep.round_trips import RoundTrips, difference


def test_lines_are_counted_and_the_first_change_is_kept():
    first = RoundTrips.of([("a b", "a b "), ("a\u00a0b", "a b"), ("a/b", "a / b"), ("c/d", "c / d")], "x", 11)
    assert (first.lines, first.unchanged) == (4, 2)  # no score sees of which kind a space is
    assert first.first_change == "x:13: 'a/b' becomes 'a / b'"
    trips = RoundTrips()
    assert (trips.shown_percentage, trips.first_change) == ("100.00%", "")
    trips.add(first)
    trips.add(RoundTrips(5, 4, "y:1: later"))
    assert (trips.lines, trips.unchanged, trips.first_change) == (9, 6, first.first_change)


def test_a_single_change_in_many_lines_is_not_rounded_away():
    assert RoundTrips(100_000, 99_999).shown_percentage == "99.99%"


def test_long_lines_are_shown_around_the_difference():
    assert difference("a" * 50 + "/b" + "c" * 50, "a" * 50 + " / b" + "c" * 50) == (
        f"'{'a' * 20}/b{'c' * 18}' becomes '{'a' * 20} / b{'c' * 16}'"
    )
