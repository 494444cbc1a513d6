"""The folder of hidden states that `python -m eval probe states` writes and the probes read.

    store = StateStore.open(folder)
    part = store.encoder("test", ("de", "fr"))      # or store.decoder(…)
    part.states("L3")                               # memory-mapped, tokens x C
    part.mean_pooled("L6")                          # sentences x C

Layers are named as in Figure 8.2 of the thesis, encoder and decoder counted through. Of N encoder and M
decoder layers:

| name                  | states                                                                        |
|-----------------------|-------------------------------------------------------------------------------|
| `L0`                  | encoder embeddings with positions, what the first layer is given              |
| `L1` … `LN`           | outputs of the encoder layers, before the final norm                          |
| `encoder-norm`        | output of the final norm, what the decoder attends to, in models that have one |
| `decoder-embedding`   | decoder embeddings with positions                                             |
| `LN+1` … `LN+M`       | outputs of the decoder layers, before the final norm                          |
| `decoder-norm`        | output of the decoder's final norm, in models that have one                   |

On disk are parts (`eval.probes.state_part`), one per side and direction; directions whose encoder inputs are
the same share one. states.json is the index and is written last; its "encoder_output" names the layer that
the decoder attends to (through the interlingua of models that have one), stored or not.
"""

from pathlib import Path

from command_line.completion import check_finished
from command_line.errors import InputError
from command_line.names_in_records import plain_name
from command_line.outputs import write_json
from eval.probes.state_part import StatePart
from eval.results.files import FORMAT, field, read_result, split_direction

INDEX = "states.json"
KIND = "states"
SIDES = ("encoder", "decoder")
Direction = tuple[str, str]


def layer_names(encoder_layers: int, decoder_layers: int, encoder_norm: bool, decoder_norm: bool) -> dict:
    """The names above per side, for a model of so many layers with or without final norms."""
    last = encoder_layers + decoder_layers
    return {
        "encoder": [f"L{n}" for n in range(encoder_layers + 1)] + ["encoder-norm"] * encoder_norm,
        "decoder": ["decoder-embedding", *(f"L{n}" for n in range(encoder_layers + 1, last + 1))]
        + ["decoder-norm"] * decoder_norm,
    }


class StateStore:
    """A complete folder of hidden states.

    Attributes:
        folder: where it is.
        record: the contents of states.json.
        supervised: directions (source, target) that the model was trained on.
        encoder_layers, decoder_layers: names of the layers stored, from the bottom up.
    """

    def __init__(self, folder, record: dict):
        self.folder, self.record = Path(folder), record
        path = self.folder / INDEX
        self.supervised: set[Direction] = {
            split_direction(text, path) for text in field(record, "supervised", list, path)
        }
        self.encoder_layers: list[str] = field(record, "layers.encoder", list, path)
        self.decoder_layers: list[str] = field(record, "layers.decoder", list, path)

    @classmethod
    def open(cls, folder) -> "StateStore":
        """
        Raises:
            InputError: the folder has no index (or extraction was interrupted), or a file is damaged.
        """
        check_finished(folder, KIND)
        path = Path(folder) / INDEX
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected the complete output of `eval probe states`")
        record = read_result(path)
        if record.get("kind") != KIND:
            raise InputError(f"{path}: kind is {record.get('kind')!r}, expected {KIND!r}")
        return cls(folder, record)

    @property
    def system(self) -> dict:
        """Name, seed and settings of the system."""
        return self.record["system"]

    @property
    def splits(self) -> list[str]:
        return list(self.record["splits"])

    def directions(self, split: str) -> list[Direction]:
        """The directions of a split, supervised and zero-shot, in alphabetical order."""
        return sorted(split_direction(text, self.folder / INDEX) for text in self._split(split))

    def encoder(self, split: str, direction: Direction) -> StatePart:
        return self._part(split, direction, "encoder")

    def decoder(self, split: str, direction: Direction) -> StatePart:
        return self._part(split, direction, "decoder")

    def part_name(self, split: str, direction: Direction, side: str) -> str:
        """Name of the part; equal for directions that share it."""
        directions, text = self._split(split), "-".join(direction)
        if text not in directions:
            known = ", ".join(directions)
            raise InputError(f"{self.folder}: no {split} states of direction {text}, it has: {known}")
        return plain_name(directions[text][side], f"{self.folder / INDEX}: {split} {text} {side}")

    def _split(self, split: str) -> dict:
        splits = self.record["splits"]
        if split not in splits:
            raise InputError(f"{self.folder}: no states of the set {split!r}, it has: {', '.join(splits)}")
        return splits[split]

    def _part(self, split: str, direction: Direction, side: str) -> StatePart:
        name = self.part_name(split, direction, side)
        layers = self.encoder_layers if side == "encoder" else self.decoder_layers
        part = StatePart(self.folder / name, layers, self.record["tags"], self.record["eos"])
        found = (part.all_states.shape[:2], int(part.offsets[-1]))
        if found != ((len(layers), len(part.tokens)), len(part.tokens)):
            raise InputError(f"{part.path}.*.npy: sizes do not match; extract the states again (--force)")
        return part


def write_index(folder, record: dict) -> None:
    """Make a folder of parts a `StateStore`; the last thing that extraction does."""
    write_json(Path(folder) / INDEX, {"format": FORMAT, "kind": KIND, **record})
