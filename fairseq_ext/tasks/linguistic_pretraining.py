"""Task `linguistic_pretraining`: JASS, ENSS and their baselines on monolingual text (thesis chapter 4)."""

import contextlib
import math
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NamedTuple, Optional

import torch
from fairseq import utils
from fairseq.logging import metrics
from fairseq.tasks import register_task

from command_line.errors import InputError
from data_prep.formats.dictionary import (
    dictionary_fingerprint,
    load_shared_dictionary,
    with_dictionary,
)
from data_prep.formats.directions import Direction, format_direction, parse_directions
from data_prep.formats.sentences import load_pair
from fairseq_ext.checkpoints import origin
from fairseq_ext.data.noising.example import Symbols
from fairseq_ext.data.noising.tasks import (
    FALLBACK,
    MASK_TOKEN,
    TRANSLATION,
    TRANSLATION_TOKEN,
    parse_mixtures,
    task_token,
    task_tokens,
)
from fairseq_ext.data.pretraining_dataset import ParallelText, PretrainingDataset, binarized_texts, load_text
from fairseq_ext.modules.decoder_positions import DecoderPositions
from fairseq_ext.options import option
from fairseq_ext.tasks import validation
from fairseq_ext.tasks.base import ACCURACY, BaseTask
from fairseq_ext.tasks.shared_options import SharedTaskConfig, check_shared_options, languages_with_tag


@dataclass
class LinguisticPretrainingConfig(SharedTaskConfig):
    pretraining_tasks: str = option(
        "tasks per language with weights (default 1), for example ja=bmass+brss.f,en=mass:2+hfss "
        "(thesis 4.3, table 4.2)",
        "",
    )
    unify_task_tokens: bool = option(
        "one token for all masking and one for all reordering tasks (thesis, footnote 20)", False
    )
    inverted_mask: bool = option(
        "masking tasks predict the whole inverted sequence, masks included (equation 4.1)", False
    )

    translation_pairs: str = option(
        "directions whose sentence pairs are translated among the tasks, for example ja-en,en-ja"
        " (not in the thesis)",
        "",
    )
    translation_data: Optional[str] = option(
        "binarized folder of these pairs, of the same dictionary (default: the data)"
    )
    translation_share: Optional[float] = option(
        "share of an epoch's examples that are sentence pairs, drawn as often as that takes"
        " (default: every pair once, or --sampling-temperature as for texts)"
    )


@register_task("linguistic_pretraining", dataclass=LinguisticPretrainingConfig)
class LinguisticPretrainingTask(BaseTask):
    """Trains on a mixture of tasks per language; validates every task of every language by itself.

    The dictionary gets the language tags, the mask and the task tokens, in this order: a model of
    `multilingual_nmt` with the same languages has the same first part of it.
    """

    cfg: LinguisticPretrainingConfig

    def __init__(self, cfg: LinguisticPretrainingConfig, dictionary):
        super().__init__(cfg, dictionary)
        self.mixtures = parse_mixtures(cfg.pretraining_tasks, "--pretraining-tasks")
        self.directions = parse_directions(cfg.translation_pairs, "--translation-pairs")
        used = {*self.mixtures, *chain.from_iterable(self.directions)}
        self.add_tags(languages_with_tag(cfg, used, "--pretraining-tasks, --translation-pairs"), "none")
        self.symbols = Symbols(mask=dictionary.add_symbol(MASK_TOKEN), eos=dictionary.eos())
        for token in task_tokens(cfg.unify_task_tokens):
            dictionary.add_symbol(token)
        if self.directions:
            dictionary.add_symbol(TRANSLATION_TOKEN)

    @classmethod
    def setup_task(cls, cfg: LinguisticPretrainingConfig, **kwargs):
        check_shared_options(cfg)
        mixtures = parse_mixtures(cfg.pretraining_tasks, "--pretraining-tasks")
        _check_translation(cfg)
        folder = utils.split_paths(cfg.data)[0]
        return cls(cfg, load_shared_dictionary(folder, mixtures))

    def state_dict(self) -> dict:
        return {
            **super().state_dict(),
            "unify_task_tokens": bool(self.cfg.unify_task_tokens),
            "translates": bool(self.directions),
        }

    def load_state_dict(self, state: dict) -> None:
        """Check that the tokens of a checkpoint mean what they mean here.

        Raises:
            InputError: another dictionary, other languages, other task tokens.
        """
        self._check_tokens(state)
        self.improvements.load_state_dict(state)
        self.initialized_from = state.get(origin.FIELD)

    def check_start(self, state: dict, knows_languages: bool) -> None:
        """Every source begins with a task and a language, whose rows are found by their places."""
        self._check_tokens(state)

    def _check_tokens(self, state: dict) -> None:
        here = self.state_dict()
        for name, meaning in (
            ("dictionary_sha256", "dictionary (dict.*.txt)"),
            ("languages", "languages (--langs)"),
            ("unify_task_tokens", "task tokens (--unify-task-tokens)"),
            ("translates", "token of translation (--translation-pairs)"),
        ):
            if state and state.get(name) != here.get(name):
                raise InputError(
                    f"the checkpoint has another {meaning}: {state.get(name)}, expected {here.get(name)}"
                )

    # --- data

    def make_dataset(self, folder: str, name: str, is_training: bool, **options) -> PretrainingDataset:
        parts = []
        for language, mixture in self.mixtures.items():
            alone = [(task, {task: 1.0}) for task in mixture]
            for task, weights in [("", mixture)] if is_training else alone:
                tags = {each: self._tags_of(each, language) for each in {*mixture, FALLBACK}}
                parts += [
                    load_text(prefix, language, task, weights, tags)
                    for prefix in binarized_texts(folder, name, language)
                ]
        parts += [self._parallel_text(folder, name, direction) for direction in self.directions]
        share = self.cfg.translation_share if is_training else None
        return PretrainingDataset(parts, self.symbols, self.cfg.inverted_mask, share, **options)

    def _parallel_text(self, folder: str, split: str, direction: Direction) -> ParallelText:
        if self.cfg.translation_data:
            folder = self.cfg.translation_data
            dictionary = load_shared_dictionary(folder, with_dictionary(folder, list(direction)))
            if dictionary_fingerprint(dictionary) != self.fingerprint:
                raise InputError(
                    f"--translation-data {folder}: its dictionary is not that of the data; prepare it with"
                    " `python -m data_prep subword --dictionary-from`"
                )
        tags = [self.dictionary.index(TRANSLATION_TOKEN), self.tags.id_of(direction[1])]
        return ParallelText(direction, *load_pair(folder, split, direction), tags)

    def _tags_of(self, task: str, language: str) -> list[int]:
        token = self.dictionary.index(task_token(task, self.cfg.unify_task_tokens))
        return [token, self.tags.id_of(language)]

    def _components(self) -> list[tuple[str, str]]:
        """(language, task) of everything that is validated."""
        tasks = [(language, task) for language, mixture in self.mixtures.items() for task in mixture]
        return tasks + [(format_direction(direction), TRANSLATION) for direction in self.directions]

    # --- steps

    def build_criterion(self, cfg, from_checkpoint=False):
        criterion = super().build_criterion(cfg, from_checkpoint)
        if self.batch_fields:
            raise InputError(
                f"--losses: they read {', '.join(self.batch_fields)} of sentence pairs, which --task"
                " linguistic_pretraining does not have; expected --task multilingual_nmt"
            )
        self.unlogged.pop(ACCURACY, None)  # the task measures it
        return criterion

    def build_model(self, cfg, from_checkpoint=False):
        model = super().build_model(cfg, from_checkpoint)
        self.decoder_positions = DecoderPositions(model.decoder)
        return model

    @contextlib.contextmanager
    def computing(self, sample):
        """Also with the positions that the tokens of the decoder's input have in their sentence."""
        positions = self.decoder_positions.at(sample["decoder_positions"], sample["decoder_length"])
        with super().computing(sample), positions:
            yield

    def valid_step(self, sample, model, criterion):
        loss, sample_size, logging_output = super().valid_step(sample, model, criterion)
        with torch.no_grad(), self.computing(sample):
            predicted = model(**sample["net_input"])[0].argmax(dim=-1)  # B x T
        component = self.datasets[sample["split"]].parts[int(sample["parts"][0])].component
        is_token = sample["target"].ne(self.dictionary.pad())
        correct = (predicted.eq(sample["target"]) & is_token).sum()
        logging_output = validation.add_direction_losses(
            logging_output, self._components(), component, supervised=True
        )
        for other in self._components():
            name = f"correct:{format_direction(other)}"
            logging_output[name] = correct if other == component else torch.zeros_like(correct)
        return loss, sample_size, logging_output

    def measured_parts(self) -> list[str]:
        return [*map(format_direction, self._components()), *self.mixtures]

    def reduce_metrics(self, logging_outputs, criterion):
        """Besides fairseq's: `loss_ja-bmass`, `nll_loss_ja-bmass`, `ppl_ja-bmass` and `accuracy_ja-bmass`
        (percent of the tokens, tables 4.12 and 4.13) for every component, `ppl_ja` and `accuracy_ja` for
        every language, and `accuracy` of all.
        """
        super().reduce_metrics(logging_outputs, criterion)
        validation.log_direction_losses(logging_outputs, self._components())
        total = partial(validation.total, logging_outputs)
        components = [format_direction(component) for component in self._components()]
        counted = {
            name: Counts(*(float(total(f"{what}:{name}")) for what in Counts._fields)) for name in components
        }
        groups = {name: [name] for name in components}
        for language, mixture in self.mixtures.items():
            groups[language] = [format_direction((language, task)) for task in mixture]
        for name, members in groups.items():
            counts = Counts(*map(sum, zip(*(counted[member] for member in members), strict=True)))
            if counts.ntokens > 0:
                bits = counts.nll_loss / counts.ntokens / math.log(2)
                metrics.log_scalar(f"_bits_{name}", bits, counts.ntokens)
                metrics.log_derived(
                    f"ppl_{name}", lambda meters, name=name: round(2 ** meters[f"_bits_{name}"].avg, 2)
                )
                _log_accuracy(f"accuracy_{name}", counts)
        everything = Counts(*map(sum, zip(*counted.values(), strict=True)))
        if everything.ntokens > 0 and not total("total"):  # --report-accuracy has logged it
            _log_accuracy("accuracy", everything)


def _check_translation(cfg: LinguisticPretrainingConfig) -> None:
    """Refuse what is said of sentence pairs if there are none, or means nothing."""
    share = cfg.translation_share
    for typed, value in (("--translation-data", cfg.translation_data), ("--translation-share", share)):
        if value is not None and not cfg.translation_pairs:
            raise InputError(f"{typed} {value}: goes with --translation-pairs")
    if share is not None and not 0 < share < 1:
        raise InputError(f"--translation-share {share}: expected a number above 0 and below 1")


class Counts(NamedTuple):
    """Sums over predicted tokens."""

    ntokens: float
    correct: float
    nll_loss: float


def _log_accuracy(name: str, counts: Counts) -> None:
    metrics.log_scalar(name, 100 * counts.correct / counts.ntokens, counts.ntokens, round=2)
