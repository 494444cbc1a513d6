"""When checkpoints of a training are made, and which of them is the best."""

from embeddings.best_model import best_of, shares


def test_equal_parts_of_a_training():
    assert shares(100, 10) == [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    assert shares(25, 10) == [3, 5, 8, 10, 13, 15, 18, 20, 23, 25]
    assert shares(3, 10) == [1, 2, 3]


def test_the_first_of_equal_ones_is_the_best_and_that_before_training_is_none():
    checkpoints = [
        {"update": update, "f1": score} for update, score in ((0, 9.0), (2, 3.0), (4, 5.0), (6, 5.0))
    ]
    assert best_of(checkpoints, "f1") is checkpoints[2]
