"""Extract the hidden states of every layer of a checkpoint, ours or stock fairseq's, once for all probes.

Decoder states are those of the model's own output (thesis 8.2.3: "obtained auto-regressively without
teacher-forcing"): every sentence is translated first, with beam search, and one pass over the tokens found
gives the states that the search had.
"""


def add_arguments(parser) -> None:
    parser.add_argument("--checkpoint", required=True, help="fairseq checkpoint")


def main(args) -> None:
    raise NotImplementedError
