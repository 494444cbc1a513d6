"""What all sentence encoders share."""

from embeddings.encoders.sentence_encoder import batches


def test_batches_hold_the_longest_first_and_no_more_tokens_than_asked_for():
    """Padding counts. A sentence that is longer is a batch of its own, and one without tokens is in none."""
    assert list(batches([3, 0, 5, 2, 2, 9, 1], 6)) == [[5], [2], [0, 3], [4, 6]]
    assert list(batches([0, 0], 6)) == []
