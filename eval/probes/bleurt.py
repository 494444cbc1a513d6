"""BLEURT (Sellam et al., 2020) of translated folders: Table E.9 of the thesis.

The model is a folder of the PyTorch port, such as `lucadiliello/BLEURT-20`, with `config.json`, `spm.model`
and weights of safetensors. BLEURT-20 is a RemBERT that reads a reference and a hypothesis together and gives
one number. The mean over the lines of a direction, times 100, is what the table shows. Only numbers of the
same model can be compared.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from typing_extensions import TypedDict

from command_line import options as types
from command_line.errors import InputError
from command_line.measurements import Measured, numbers
from command_line.option_classes import option, switch
from command_line.outputs import checksum
from command_line.progress import progress
from command_line.records import check
from data_prep.model_folders.folder import ModelFolder
from data_prep.model_folders.loading import check_complete
from data_prep.model_folders.models import WEIGHTS, take_weights
from data_prep.model_folders.settings import CONFIGURATION
from eval.reporting.result_file import Written, publish
from eval.scored import Translation
from eval.scoring.test_sets import DirectionFiles, TranslatedFolders, paths_of

KIND = "bleurt"
VOCABULARY = "spm.model"
SIZES = (
    "vocab_size", "embedding_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
    "intermediate_size", "max_position_embeddings", "type_vocab_size",
)  # fmt: skip
PROJECTION = "encoder.embedding_projection", "encoder.embedding_hidden_mapping_in"  # of the port, of RemBERT

Configuration = TypedDict("Configuration", {"model_type": Literal["bleurt"], **dict.fromkeys(SIZES, int)})


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command."""

    folders: TranslatedFolders
    model: Path = option("folder of BLEURT-20, or of one of its smaller models", required=True)
    batch_size: int = option("lines at a time", 32, type=types.positive, compare=False)
    cpu: bool = switch("do not use a GPU", compare=False)
    written: Written


def main(options: Options) -> None:
    translated = options.folders.files()
    folder = checked(options.model)
    inputs = [*paths_of(translated), *folder.paths()]
    publish(KIND, options, inputs, lambda: measure(options, folder, translated), options.written)


def checked(path: Path) -> ModelFolder:
    """What the port reads of a folder.

    Raises:
        InputError: no such folder, no model of BLEURT with SentencePiece in it, or pickled weights.
    """
    folder = ModelFolder(path, "--model")
    configuration = folder.read(CONFIGURATION)
    if configuration is None:
        raise InputError(f"{path / CONFIGURATION}: no such file; expected that of BLEURT-20 in PyTorch")
    check(configuration, Configuration, path / CONFIGURATION)
    folder.show(CONFIGURATION, {name: configuration[name] for name in SIZES})
    if folder.take(VOCABULARY) is None:
        raise InputError(f"{path / VOCABULARY}: no such file; expected the pieces of BLEURT-20")
    take_weights(folder)
    return folder


def measure(
    options: Options, folder: ModelFolder, translated: list[tuple[Translation, list[DirectionFiles]]]
) -> Measured:
    """One run per folder. In rows `part` is the model."""
    scorer = Scorer(folder, options.batch_size, options.cpu)
    name, sha256 = folder.path.resolve().name, checksum(folder.files[WEIGHTS])
    measured = Measured()
    for translation, files in translated:
        rows = []
        for test_set in progress(files, len(files), "bleurt", "direction"):
            hypotheses, _, references = test_set.read()
            scores = scorer.scores(references, hypotheses)
            kind = translation.directions[test_set.direction]["kind"]
            values = {"lines": len(scores), KIND: sum(scores) / len(scores)}
            rows += numbers(values, part=name, kind=kind, direction=test_set.direction)
        measured.add(translation.described() | {"model": name, "model_sha256": sha256}, rows)
    return measured


class Scorer:
    """A model of BLEURT.

    Raises:
        InputError: weights are missing, or have other sizes than the configuration says.
    """

    def __init__(self, folder: ModelFolder, batch_size: int, cpu: bool):
        import torch
        from safetensors.torch import load_file
        from transformers import RemBertConfig, RemBertForSequenceClassification, RemBertTokenizer

        self.device = "cuda" if torch.cuda.is_available() and not cpu else "cpu"
        self.batch_size = batch_size
        with folder.opened("BLEURT") as private:
            sizes = folder.settings[CONFIGURATION]
            configuration = RemBertConfig(input_embedding_size=sizes["embedding_size"], num_labels=1, **sizes)
            model = RemBertForSequenceClassification(configuration)
            weights = {
                name.replace("bleurt", "rembert", 1).replace(*PROJECTION): weight
                for file in sorted(private.glob("*.safetensors"))
                for name, weight in load_file(file).items()
            }
            missing = model.load_state_dict(weights, strict=False).missing_keys
            self.tokenizer = RemBertTokenizer(str(private / VOCABULARY))
        check_complete(folder.path, missing, with_pooler=True)
        self.model = model.to(self.device).eval()
        self.longest = model.config.max_position_embeddings

    def scores(self, references: Sequence[str], hypotheses: Sequence[str]) -> list[float]:
        """A number per line, around 0 to 1."""
        return list(self._scores(references, hypotheses))

    def _scores(self, references: Sequence[str], hypotheses: Sequence[str]) -> Iterator[float]:
        import torch

        for start in range(0, len(references), self.batch_size):
            lines = slice(start, start + self.batch_size)
            batch = self.tokenizer(
                list(references[lines]),
                list(hypotheses[lines]),
                padding=True,
                truncation=True,
                max_length=self.longest,
                return_tensors="pt",
            )
            with torch.inference_mode():
                yield from self.model(**batch.to(self.device)).logits.flatten().tolist()
