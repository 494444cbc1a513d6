"""Task `multilingual_nmt`: one model for any set of translation directions over one joint dictionary."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Optional

import numpy as np
import torch
from fairseq import utils
from fairseq.data import ListDataset
from fairseq.dataclass import ChoiceEnum
from fairseq.tasks import register_task

from command_line.errors import InputError
from data_prep.formats.dictionary import load_shared_dictionary, with_dictionary
from data_prep.formats.directions import Direction, format_direction, parse_directions
from data_prep.formats.sentences import load_pair
from fairseq_ext.checkpoints import initializing, origin
from fairseq_ext.checkpoints.vocabulary_rows import RANDOM
from fairseq_ext.data.augmentation import Augmentation, AugmentationConfig
from fairseq_ext.data.batch_fields import FIELDS, FieldSource
from fairseq_ext.data.language_tags import DEFAULT_PLACEMENT, PLACEMENTS, LanguageTags
from fairseq_ext.data.multilingual_dataset import DirectionData, MultilingualDataset
from fairseq_ext.options import option
from fairseq_ext.tasks import validation
from fairseq_ext.tasks.generating import GeneratingTask
from fairseq_ext.tasks.shared_options import SharedTaskConfig, check_shared_options, languages_with_tag


@dataclass
class MultilingualNmtConfig(SharedTaskConfig, AugmentationConfig):
    lang_pairs: str = option("directions to train on, for example en-de,de-en,en-fr,fr-en", "")
    zero_shot_lang_pairs: str = option(
        "directions to validate on as well; they never enter the loss that selects a checkpoint", ""
    )
    language_tags: Optional[ChoiceEnum(list(PLACEMENTS))] = option(
        "which tags stand where: s = source, t = target, enc/dec = side (thesis 8.2.1)"
        f" (default: {DEFAULT_PLACEMENT} in training, the checkpoint's at inference)"
    )
    pretrained_checkpoint: Optional[str] = option(
        "start from the weights of a checkpoint of linguistic_pretraining or multilingual_nmt,"
        " of the same dictionary (thesis 4.4.6); an interrupted training goes on from its own"
    )
    pretrained_dictionary: Optional[str] = option(
        "the dict.LANG.txt that --pretrained-checkpoint was trained with, if it is another one"
        " than that of the data, or the checkpoint is of stock fairseq: rows are found by symbol"
    )
    new_rows: str = option(
        "embeddings of symbols and tags that --pretrained-checkpoint does not have: random, mean"
        " (of its symbols) or =SYMBOL (a copy), and others by name, for example mean,__af__=__nl__",
        RANDOM,
    )
    alignments: Optional[str] = option(
        "which word alignments the losses read (`data_prep align --aligner`, or its `--name`); "
        "default: the only one in the data folder"
    )
    source_lang: Optional[str] = option("inference: source language", argparse_alias="-s")
    target_lang: Optional[str] = option("inference: target language", argparse_alias="-t")
    eval_bleu: bool = option("validate with sacreBLEU on detokenized text, per direction", False)
    eval_bleu_args: str = option("generation options for --eval-bleu, as JSON", '{"beam": 5}')


@register_task("multilingual_nmt", dataclass=MultilingualNmtConfig)
class MultilingualNmtTask(GeneratingTask):
    """Trains on `--lang-pairs`; at inference `--source-lang`/`--target-lang` choose the direction.

    Languages and tag placement travel in the checkpoint (`task_state`), so that fairseq's own generation
    commands need nothing but the direction.

    Args:
        dictionary: the joint dictionary; tags are appended to it.
    """

    cfg: MultilingualNmtConfig

    def __init__(self, cfg: MultilingualNmtConfig, dictionary):
        super().__init__(cfg, dictionary)
        self.supervised = parse_directions(cfg.lang_pairs, "--lang-pairs")
        self.zero_shot = parse_directions(cfg.zero_shot_lang_pairs, "--zero-shot-lang-pairs")
        if self.supervised:
            self.add_tags(_languages(cfg, self.supervised), cfg.language_tags or DEFAULT_PLACEMENT)
            self._check_zero_shot()

    @classmethod
    def setup_task(cls, cfg: MultilingualNmtConfig, **kwargs):
        folder = utils.split_paths(cfg.data)[0]
        if not Path(folder).is_dir():
            raise InputError(
                f"{folder}: no such folder; expected the output of `python -m data_prep binarize`"
            )
        check_shared_options(cfg)
        if bool(cfg.source_lang) != bool(cfg.target_lang):
            raise InputError("--source-lang and --target-lang go together: give both or neither")
        supervised = parse_directions(cfg.lang_pairs, "--lang-pairs")
        if not supervised and not cfg.source_lang:
            raise InputError(
                "--lang-pairs (training) or --source-lang and --target-lang (inference) are needed"
            )
        languages = _languages(cfg, supervised) if supervised else [cfg.source_lang, cfg.target_lang]
        return cls(cfg, load_shared_dictionary(folder, with_dictionary(folder, languages)))

    def _check_zero_shot(self) -> None:
        for direction in self.zero_shot:
            if direction in self.supervised:
                raise InputError(
                    f"--zero-shot-lang-pairs: {format_direction(direction)} is a training direction"
                )
            for language in direction:
                self.tags.id_of(language)

    # --- what travels in the checkpoint

    def state_dict(self) -> dict:
        return {
            **super().state_dict(),
            "language_tags": self.tags.placement_name,
            "lang_pairs": [format_direction(direction) for direction in self.supervised],
        }

    def load_state_dict(self, state: dict) -> None:
        """Adopt the languages and tags of a checkpoint, or check them if the command line has set them.

        Raises:
            InputError: the folder's dictionary is not the checkpoint's, or options contradict the checkpoint.
        """
        if not state:
            if self.tags is None:
                raise InputError(
                    "the checkpoint is not of the task multilingual_nmt and names no language tags; "
                    "use the task that it was trained with, or `python -m eval translate`"
                )
            return
        self.check_dictionary(state)
        self.improvements.load_state_dict(state)
        self._check_tags(state)
        self.initialized_from = state.get(origin.FIELD)
        if self.tags is None:
            exist = state.get("tags_exist", True)
            self.tags = LanguageTags(self.dictionary, state["languages"], state["language_tags"], exist)
            self.supervised = parse_directions(",".join(state["lang_pairs"]), "checkpoint")

    def _check_tags(self, state: dict) -> None:
        """What the command line says of tags is what the checkpoint says; it need not say anything at
        inference.
        """
        if self.tags is not None:
            placement, languages = self.tags.placement_name, self.tags.languages
        else:
            placement = str(self.cfg.language_tags or state["language_tags"])
            languages = self.cfg.langs.split(",") if self.cfg.langs else state["languages"]
        if (placement, languages) != (state["language_tags"], state["languages"]):
            raise InputError(
                f"the checkpoint has tags {state['language_tags']} for {','.join(state['languages'])}, "
                f"the options say {placement} for {','.join(languages)}; "
                "give --language-tags and --langs as there"
            )

    # --- data

    def make_dataset(self, folder: str, name: str, is_training: bool, **options) -> MultilingualDataset:
        selecting, zero_shot = self._validated()
        directions = selecting if is_training else selecting + zero_shot
        augmentation = Augmentation.of(self, folder) if is_training else None
        parts = [self._direction_data(folder, name, direction, augmentation) for direction in directions]
        return MultilingualDataset(parts, **options)

    def _validated(self) -> tuple[list[Direction], list[Direction]]:
        """The directions whose losses make up `loss`, and the zero-shot ones, which do not."""
        if self.cfg.source_lang:
            return [(self.cfg.source_lang, self.cfg.target_lang)], []
        return self.supervised, self.zero_shot

    def _direction_data(
        self, folder, split: str, direction: Direction, augmentation: Augmentation | None = None
    ) -> DirectionData:
        sources, targets = load_pair(folder, split, direction)
        if augmentation is not None:
            sources, targets = augmentation.pair(sources, targets, split, direction)
        sizes = sources.sizes, targets.sizes
        part = DirectionData.with_tags(self.tags, direction, sources, targets, *sizes)
        zero_shot = direction not in self.supervised
        source = FieldSource(part, self.tags, folder, split, zero_shot, self.cfg.alignments)
        part.fields.update((name, FIELDS[name](source)) for name in self.batch_fields)
        return part

    def build_dataset_for_inference(self, src_tokens, src_lengths, constraints=None, **kwargs):
        """Sentences typed by a user (fairseq-interactive); they get the tags of the command line's
        direction.
        """
        if constraints is not None:
            raise InputError("--constraints: not supported by the task multilingual_nmt")
        direction = (self.cfg.source_lang, self.cfg.target_lang)
        sources = ListDataset(src_tokens, src_lengths)
        part = DirectionData.with_tags(self.tags, direction, sources, None, np.asarray(src_lengths), None)
        return MultilingualDataset([part], self.dictionary.pad(), self.dictionary.eos(), shuffle=False)

    # --- steps

    def valid_step(self, sample, model, criterion):
        measured = validation.without_forced_tags(sample, self.dictionary.pad())
        loss, sample_size, logging_output = super().valid_step(measured, model, criterion)
        selecting, zero_shot = self._validated()
        directions = selecting + zero_shot
        direction = directions[int(sample["parts"][0])]
        supervised = direction in selecting
        logging_output = validation.add_direction_losses(logging_output, directions, direction, supervised)
        if self.cfg.eval_bleu:
            statistics = self._bleu_statistics(sample, model, direction)
            for other in directions:
                zero = torch.zeros(validation.BLEU_STATISTICS, dtype=torch.float64)
                logging_output[f"bleu:{format_direction(other)}"] = statistics if other == direction else zero
        return loss, sample_size if supervised else 0, logging_output

    def measured_parts(self) -> list[str]:
        return [format_direction(direction) for directions in self._validated() for direction in directions]

    def reduce_metrics(self, logging_outputs, criterion):
        super().reduce_metrics(logging_outputs, criterion)
        selecting, zero_shot = self._validated()
        directions = selecting + zero_shot
        validation.log_direction_losses(logging_outputs, directions)
        if any(f"bleu:{format_direction(directions[0])}" in log for log in logging_outputs):
            validation.log_bleu(logging_outputs, selecting, zero_shot)

    # --- model

    def build_model(self, cfg, from_checkpoint=False):
        if self.cfg.source_lang and not from_checkpoint:
            source, target = self.cfg.source_lang, self.cfg.target_lang
            raise InputError(
                f"--source-lang {source} --target-lang {target}: choose a direction at inference; a training"
                f" has --lang-pairs, for example {format_direction((source, target))}"
            )
        model = super().build_model(cfg, from_checkpoint)
        if not from_checkpoint:
            _check_start(self.cfg, self.initialized_from)
        if self.cfg.pretrained_checkpoint and not from_checkpoint:
            # before the trainer restores a checkpoint: what it finds in --save-dir wins
            path = self.cfg.pretrained_checkpoint
            self.initialized_from = initializing.initialize(model, cfg, self, path)
        if self.cfg.eval_bleu:
            self._bleu = validation.ValidationBleu.of_folder(utils.split_paths(self.cfg.data)[0])
            self._generator = self.build_generator(
                [model], validation.generation_options(self.cfg.eval_bleu_args)
            )
        return model

    def _bleu_statistics(self, sample, model, direction: Direction) -> torch.Tensor:
        hypotheses = [
            self.dictionary.string(
                best[0]["tokens"].int().cpu(),
                extra_symbols_to_ignore=self._generator.symbols_to_strip_from_output,
            )
            for best in self.inference_step(self._generator, [model], sample)
        ]
        return self._bleu.statistics(hypotheses, sample["split"], direction, sample["lines"])


def _check_start(cfg: MultilingualNmtConfig, started: dict | None) -> None:
    """Refuse options of a start without a checkpoint to start from, and one whose weights another replaces.

    Args:
        started: by fairseq's own options (`initializing.finetuned_from`).
    """
    if cfg.pretrained_checkpoint and started != {}:
        raise InputError(
            f"{initializing.OPTION} {cfg.pretrained_checkpoint}: --finetune-from-model, or --restore-file"
            " with --reset-optimizer, would replace its weights; give one of them"
        )
    for typed, given in (
        (initializing.DICTIONARY_OPTION, cfg.pretrained_dictionary),
        (f"--new-rows {cfg.new_rows}", cfg.new_rows != RANDOM),
    ):
        if given and not cfg.pretrained_checkpoint:
            raise InputError(f"{typed}: goes with {initializing.OPTION}")


def _languages(cfg: MultilingualNmtConfig, directions: list[Direction]) -> list[str]:
    return languages_with_tag(cfg, chain.from_iterable(directions), "--lang-pairs")
