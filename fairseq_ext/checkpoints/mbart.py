"""mBART checkpoints of fairseq (Liu et al., 2020) as models of ours (thesis 5.2.3, "mBART FT").

The rows of the joint embedding of mBART are fairseq's four special symbols, the lines of its dict.txt, one
tag per language (`[de_DE]`), and `<mask>`. Those of a model of ours are the special symbols, the lines of
the corpus's dictionary, and one tag per language (`__de__`): a choice of mBART's rows in another order. All
else stays as it is: `--arch mnmt_transformer_mbart` computes what fairseq's `mbart_large` computes.
"""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from command_line.errors import InputError
from data_prep.languages import same_written_language
from data_prep.subword_models import SPECIAL_SYMBOLS
from fairseq_ext.checkpoints.progress import trained_for
from fairseq_ext.checkpoints.reading import EMBEDDINGS

LANGUAGES = (  # of mBART-25, in the order of its rows
    *("ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN", "hi_IN", "it_IT"),
    *("ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP", "nl_XX", "ro_RO", "ru_RU", "si_LK"),
    *("tr_TR", "vi_VN", "zh_CN"),
)
UNUSED = "madeupword"  # dictionaries are filled up with these; they never occur
NEEDED = ("encoder.layernorm_embedding.weight", "encoder.layer_norm.weight", "encoder.embed_positions.weight")
OFFSET_OF_POSITIONS = 2  # fairseq's learned positions begin behind the index of padding, which is 1
HEAD_WIDTH = 64  # of mBART-25


@dataclass(frozen=True)
class MbartVocabulary:
    """The symbols of mBART, without fairseq's special ones.

    Attributes:
        symbols: the lines of its dict.txt.
        languages: names of its tags, `de_DE`, in the order of their rows.
    """

    symbols: Sequence[str]
    languages: Sequence[str]

    def __len__(self) -> int:
        """Rows of the embedding, special symbols and `<mask>` included."""
        return len(SPECIAL_SYMBOLS) + len(self.symbols) + len(self.languages) + 1

    def tag_of(self, language: str, given: dict[str, str]) -> str:
        """The name of mBART's tag of a language: the one that is given, or else the only one of that language
        in that script (`zh_CN` for `zho_Hans`, none for `zho_Hant`).

        Raises:
            InputError: mBART has no such tag.
        """
        wanted = given.get(language)
        candidates = [name for name in self.languages if same_written_language(name, language)]
        tags = candidates if wanted is None else [wanted] if wanted in self.languages else []
        if len(tags) != 1:
            raise InputError(
                f"--tags: no tag of mBART for {wanted or language}; give {language}=NAME with one of"
                f" {','.join(self.languages)}"
            )
        return tags[0]

    def rows(self, symbols: Sequence[str], tags: Sequence[str], path) -> Tensor:
        """The rows of mBART's embedding for a dictionary with these symbols and then these tags.

        Symbols that only fill a dictionary up get the row of `<unk>`.

        Args:
            path: of the dictionary, for the error.

        Raises:
            InputError: mBART has no such symbol; names file and line.
        """
        special = len(SPECIAL_SYMBOLS)
        places = {symbol: row for row, symbol in enumerate(self.symbols, start=special)}
        rows = list(range(special))
        for number, symbol in enumerate(symbols, start=1):
            unused = symbol.startswith(UNUSED) and symbol not in places
            row = SPECIAL_SYMBOLS.index("<unk>") if unused else places.get(symbol)
            if row is None:
                raise InputError(
                    f"{path}:{number}: {symbol!r} is not in mBART's dictionary; make the data with"
                    " `python -m data_prep subword --pretrained`"
                )
            rows.append(row)
        first_tag = special + len(self.symbols)
        rows += [first_tag + self.languages.index(tag) for tag in tags]
        return torch.tensor(rows)


def shape_of(weights: dict[str, Tensor], options: Namespace | None, path) -> Namespace:
    """The options of `--arch mnmt_transformer_mbart` that describe these weights.

    Args:
        options: mBART's own, which tell the number of attention heads; without them heads are 64 wide.

    Raises:
        InputError: not the weights of an mBART model.
    """
    if missing := [name for name in (EMBEDDINGS[0], *NEEDED) if name not in weights]:
        raise InputError(f"{path}: no {missing[0]} in it; expected fairseq's mBART (arch mbart_large)")
    shape = {"arch": "mnmt_transformer_mbart", "_name": "mnmt_transformer_mbart"}
    for side, name in (("encoder", "source"), ("decoder", "target")):
        width = weights[f"{side}.embed_tokens.weight"].size(1)
        numbers = {key.split(".")[2] for key in weights if key.startswith(f"{side}.layers.")}
        shape |= {
            f"{side}_embed_dim": width,
            f"{side}_ffn_embed_dim": weights[f"{side}.layers.0.fc1.weight"].size(0),
            f"{side}_layers": len(numbers),
            f"{side}_attention_heads": heads_of(options, side, width, path),
            f"max_{name}_positions": len(weights[f"{side}.embed_positions.weight"]) - OFFSET_OF_POSITIONS,
        }
    if empty := [name for name, size in shape.items() if isinstance(size, int) and size < 1]:
        raise InputError(f"{path}: its weights have {empty[0]} {shape[empty[0]]}; expected fairseq's mBART")
    return Namespace(**shape)


def heads_of(options: Namespace | None, side: str, width: int, path) -> int:
    """Attention heads of a side: the one option of mBART's checkpoint that is read.

    Raises:
        InputError: they do not divide the width.
    """
    name = f"{side}_attention_heads"
    heads = getattr(options, name, max(width // HEAD_WIDTH, 1))
    if type(heads) is not int or heads < 1 or width % heads:
        raise InputError(f"{path}: option {name} is {heads!r:.80}; expected a divisor of the width {width}")
    return heads


def trimmed(weights: dict[str, Tensor], rows: Tensor) -> dict[str, Tensor]:
    """The weights of a model of ours with these rows of mBART's embedding, in float32."""
    kept = {name: tensor.float() for name, tensor in weights.items() if name not in EMBEDDINGS}
    embedding = weights[EMBEDDINGS[0]][rows].float()
    return kept | dict.fromkeys(EMBEDDINGS, embedding)


def checkpoint(weights: dict[str, Tensor], options: Namespace, task_state: dict) -> dict:
    """What fairseq's trainer restores with `--finetune-from-model`, and what inference reads."""
    positions = {name: getattr(options, name) for name in ("max_source_positions", "max_target_positions")}
    return {
        "args": None,
        "cfg": {
            "model": options,
            "task": {"_name": "multilingual_nmt", **positions},
            "common": {"seed": 1},
        },
        "model": weights,
        "criterion": None,
        "task_state": task_state,
        "optimizer_history": [trained_for(0)],
        "extra_state": {"train_iterator": {"epoch": 1, "iterations_in_epoch": 0}},
        "last_optimizer_state": None,
    }
