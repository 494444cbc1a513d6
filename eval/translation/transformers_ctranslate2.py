"""`--engine ctranslate2` of a folder of `transformers`, which CTranslate2's own converter reads."""

import math
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from command_line.completion import Stamp, check_unchanged, file_identity, read_settings
from command_line.errors import InputError
from command_line.outputs import scratch_folder
from data_prep.model_folders.libraries import as_one_line
from data_prep.model_folders.loading import convert_to_ctranslate2, load_configuration
from data_prep.model_folders.models import check_model
from eval.translation.engine_options import CTRANSLATE2, DEFAULT_PRECISION
from eval.translation.transformers_languages import KIND, OPTION
from eval.translation.translator import TranslatorOptions

NAME = "convert"  # of the step, and of its record
WRITTEN = (
    "model.bin",
    "config.json",
    "shared_vocabulary.json",
    "source_vocabulary.json",
    "target_vocabulary.json",
)


class Ctranslate2Search:
    """A converted folder, ready to search.

    Raises:
        InputError: the converter does not know the model; the machine lacks the precision; the folder is of
            another model.
    """

    def __init__(self, model, tokenizer, options: TranslatorOptions):
        from fairseq_ext.export.ctranslate2_search import CPU_TOKENS, check_precision, open_translator

        cuda = torch.cuda.is_available() and not options.decoding.cpu
        precision = options.engine.precision or DEFAULT_PRECISION
        check_precision(precision, cuda)
        self.tokenizer, self.options = tokenizer, options.decoding.search
        folder = converted(model.checkpoint, options.engine.engine_folder)
        config = load_configuration(model.checkpoint, OPTION, KIND)
        self.longest = getattr(config, "max_position_embeddings", None) or math.inf
        self.most_tokens = 0 if cuda else CPU_TOKENS
        with as_one_line(f"--engine-folder {folder}", "CTranslate2"):
            self.engine = open_translator(folder, precision, torch.get_num_threads(), cuda)

    def n_best(
        self, rows: Sequence[list[int]], forced: int | None, count: int, with_scores: bool
    ) -> list[list[tuple[list[int], float]]]:
        options, width = self.options, max(map(len, rows))
        prefix = [] if forced is None else self.tokenizer.convert_ids_to_tokens([forced])
        results = self.engine.translate_batch(
            [self.tokenizer.convert_ids_to_tokens(row) for row in rows],
            target_prefix=[prefix for _ in rows] if prefix else None,
            beam_size=options.beam,
            num_hypotheses=count,
            length_penalty=options.lenpen,
            max_decoding_length=min(int(options.max_len_a * width + options.max_len_b), self.longest - 1),
            max_input_length=0,
            max_batch_size=self.most_tokens,
            batch_type="tokens",
            return_scores=True,
        )
        return [
            [
                (self.tokenizer.convert_tokens_to_ids(tokens), score)
                for tokens, score in zip(result.hypotheses, result.scores, strict=True)
            ]
            for result in results
        ]


def converted(checkpoint: Path, given: Path | None) -> Path:
    """The folder for CTranslate2, of weights in float32; one that is not there is made.

    Args:
        given: where it is; None: beside the checkpoint.

    Raises:
        InputError: it is of another model, or has other files; the converter does not know the model.
    """
    folder = given or checkpoint.resolve().with_name(f"{checkpoint.resolve().name}.{CTRANSLATE2}")
    files = {path.name: file_identity(path) for path in check_model(checkpoint, OPTION).paths()}
    settings = {"to": CTRANSLATE2, "files": files}
    stamp = Stamp(folder / f"{NAME}.json", NAME, settings)
    recorded = {} if stamp.was_interrupted() else read_settings(folder, NAME)
    if recorded == stamp.settings:
        check_unchanged(folder, NAME)
        return folder
    if (recorded and given) or (not recorded and not stamp.was_begun() and any(folder.glob("[!.]*"))):
        raise InputError(
            f"--engine-folder {folder}: not converted from {checkpoint}; expected an empty folder, or one"
            " that this command wrote for it"
        )
    print(f"{folder}: {checkpoint.name} is converted for CTranslate2", file=sys.stderr)
    stamp.begin()
    with scratch_folder(folder) as scratch:
        convert_to_ctranslate2(checkpoint, scratch / "out", OPTION)
        written = []
        for name in WRITTEN:
            if (scratch / "out" / name).exists():
                written.append((scratch / "out" / name).replace(folder / name))
    stamp.finish(written)
    return folder
