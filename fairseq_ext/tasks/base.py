"""What our tasks have in common: one joint dictionary with language tags, epochs, steps."""

import contextlib
import functools
import logging
import re
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from fairseq import utils
from fairseq.logging import metrics
from fairseq.tasks import FairseqTask

from command_line.errors import InputError
from data_prep.formats.dictionary import (
    dictionary_fingerprint,
    languages_with_dictionary,
    load_shared_dictionary,
)
from fairseq_ext.checkpoints import initializing, origin
from fairseq_ext.criterions.options_of_losses import TRANSLATION, TRANSLATION_LOG
from fairseq_ext.data.language_tags import LanguageTags
from fairseq_ext.data.multipart_dataset import MultipartDataset
from fairseq_ext.data.updates import UpdateIterator, check_update_freq, pass_of, steps_of
from fairseq_ext.losses.registry import LOSSES
from fairseq_ext.losses.weighted_loss import ModelSizes
from fairseq_ext.modules.all_gather import contributing_nothing, world_size
from fairseq_ext.modules.compiled_layers import compile_layers
from fairseq_ext.modules.language_embeddings import embed_languages
from fairseq_ext.tasks import patience
from fairseq_ext.tasks.improvements import Improvements
from fairseq_ext.tasks.option_ranges import check_ranges
from fairseq_ext.tasks.shared_options import SharedTaskConfig, check_training, chosen_measures

logger = logging.getLogger(__name__)
ACCURACY = "accuracy"
OF_A_PART = re.compile("(?:loss|nll_loss|bleu|retrieval|accuracy|ppl)_(.+)")
OF_TRANSLATION = (TRANSLATION_LOG, "nll_loss", "ppl", ACCURACY)  # measures that its loss logs
WAITING_BACKENDS = ("c10d", "pytorch_ddp")  # which wait for the gradients of all parameters


@functools.cache  # fairseq loads the training set anew for every epoch
def _fingerprint_of(folder: str) -> str:
    """The fingerprint of a folder's dictionary."""
    return dictionary_fingerprint(load_shared_dictionary(folder, languages_with_dictionary(folder)))


class BaseTask(FairseqTask):
    """A task over binarized text of several languages with one joint dictionary.

    A task says which tags it adds (`add_tags`), which parts its sets have (`make_dataset`), and what it
    measures in validation. The criterion, and with it the losses, may need a decoder or not: nothing here
    does.

    Args:
        dictionary: the joint dictionary; tags are appended to it.

    Attributes:
        fingerprint: of the dictionary without tags; with it, checkpoints know what their token ids mean.
        base_vocabulary_size: number of entries of the dictionary without tags.
        tags: the language tags, once they are known.
        batch_fields: what the criterion needs in a batch beyond fairseq's (`fairseq_ext.data.batch_fields`).
        model_sizes: of the model that was built, for the criterion.
        required_losses: losses that the model that was built cannot do without.
        unused_options: that were given to losses which are not trained.
        unlogged: measures that a validation does not log, and what it would take.
        after_update: what the criterion does after every update, or None.
        epochs_of_pass: into how many virtual epochs every pass over the data is divided; None before the
            first batch, and without `--virtual-epoch-updates`.
        initialized_from: what the model was started from (`fairseq_ext.checkpoints.origin`); None if unknown.
    """

    cfg: SharedTaskConfig

    def __init__(self, cfg: SharedTaskConfig, dictionary):
        super().__init__(cfg)
        self.dictionary = dictionary
        self.fingerprint = dictionary_fingerprint(dictionary)
        self.base_vocabulary_size = len(dictionary)
        self.tags: LanguageTags | None = None
        self.batch_fields: tuple[str, ...] = ()
        self.model_sizes: ModelSizes | None = None
        self.required_losses: tuple[str, ...] = ()
        self.loss_names: tuple[str, ...] = ()
        self.unused_options: list[str] = []
        self.unlogged: dict[str, str] = {}
        self.after_update = None
        self.initialized_from: dict | None = None
        self.epochs_of_pass: int | None = None
        self._said: set[str] = set()
        self._announced: bool | None = None  # is the target, to the models that were built?
        self.improvements = Improvements(cfg.improvement_metrics)

    def add_tags(self, languages: Iterable[str], placement: str) -> None:
        self.tags = LanguageTags(self.dictionary, languages, str(placement))

    def state_dict(self) -> dict:
        """What travels in every checkpoint."""
        return {
            "languages": list(self.tags.languages),
            "dictionary_sha256": self.fingerprint,
            origin.FIELD: self.initialized_from,
            **self.improvements.state_dict(),
            **patience.state_dict(),
        }

    def check_dictionary(self, state: dict) -> None:
        """Compare the folder's dictionary with that of a checkpoint."""
        if state["dictionary_sha256"] != self.fingerprint:
            folder = utils.split_paths(self.cfg.data)[0]
            raise InputError(
                f"{folder}/dict.*.txt: is not the dictionary that the checkpoint was trained with; "
                "use the folder of its training, or prepare the data with its subword model and dictionary"
            )

    def check_start(self, state: dict, knows_languages: bool) -> None:
        """Compare the languages of a checkpoint that a training begins with, of the same dictionary: what
        stands for them is found by its place.

        Args:
            state: of the task that it was trained with.
            knows_languages: have the losses parameters of the checkpoint's that stand for languages?

        Raises:
            InputError: they are others, or in another order.
        """
        tags = self.tags
        if tags is None or not tags.exist or state.get("tags_exist") is False:
            return
        there, here = ",".join(state["languages"]), ",".join(tags.languages)
        if there != here and tags.placement_name != "none":
            raise InputError(
                f"has rows of tags for {there}, and here they would be those of {here}; expected --langs as"
                " there, or --pretrained-checkpoint, which finds tags by their names"
            )
        if there != here and knows_languages:
            raise InputError(
                f"has losses of the languages {there}, and here they would be {here}; expected --langs as"
                " there, or losses that do not ask for languages"
            )

    # --- data

    @property
    def source_dictionary(self):
        return self.dictionary

    @property
    def target_dictionary(self):
        return self.dictionary

    def max_positions(self):
        return (self.cfg.max_source_positions, self.cfg.max_target_positions)

    def load_dataset(
        self, split: str, epoch: int = 1, combine: bool = False, task_cfg=None, **kwargs
    ) -> None:
        """Training examples are sampled, shuffled and mixed; every part of another set is measured alone.

        Raises:
            InputError: validation sets are to be combined.
        """
        paths = utils.split_paths(self.cfg.data)
        is_training = split == self.cfg.train_subset
        if is_training:
            self._check_folders(paths)
        if combine and not is_training:
            raise InputError(
                "--combine-valid-subsets: sets are measured one by one here; expected --valid-subset with all"
                " their names, and --ignore-unused-valid-subsets"
            )
        self.datasets[split] = self.make_dataset(
            paths[(epoch - 1) % len(paths)] if is_training else paths[0],
            split,
            is_training,
            pad=self.dictionary.pad(),
            eos=self.dictionary.eos(),
            temperature=self.cfg.sampling_temperature if is_training else None,
            shuffle=is_training,
            separate_parts=not is_training,
            seed=self.cfg.seed,
            split=split,
        )

    def _check_folders(self, paths: list[str]) -> None:
        """Folders that take turns have one dictionary: token ids of another one would be read as of this.

        Raises:
            InputError: one has another dictionary.
        """
        for folder in paths[1:]:
            if _fingerprint_of(folder) != self.fingerprint:
                raise InputError(
                    f"{folder}/dict.*.txt: is another dictionary than that of {paths[0]}; folders that take"
                    " turns need the same one"
                )

    def make_dataset(self, folder: str, name: str, is_training: bool, **options) -> MultipartDataset:
        """The set `name` of a folder."""
        raise NotImplementedError

    def get_batch_iterator(self, dataset, *args, num_shards=1, shard_id=0, epoch=1, **kwargs):
        """fairseq's; for training, with the same batches in an update on any number of processes, and with
        virtual epochs.

        Workers of the loader end with their epoch. Every epoch has a loader of its own here
        (`can_reuse_epoch_itr_across_epochs`), so workers that are kept have nothing to do. They would be
        found by the garbage collector, which cannot reach them any more (their queues are closed before they
        are told to stop) and waits 5 s for each.
        """

        def batches_of(number: int):
            # --update-ordered-indices-seed adds the epoch's number: here that of the pass, of one order
            given = kwargs.get("seed", self.cfg.seed)
            seed = given if given == self.cfg.seed else self.cfg.seed + number
            iterator = super(BaseTask, self).get_batch_iterator(
                dataset,
                *args,
                num_shards=num_shards,
                shard_id=shard_id,
                epoch=number,
                **kwargs | {"seed": seed},
            )
            iterator.persistent_workers = False
            return iterator

        if dataset is not self.datasets.get(self.cfg.train_subset):
            return batches_of(epoch)
        update_freq = self.cfg.update_freq[min(epoch, len(self.cfg.update_freq)) - 1]
        batches = self.cfg.batches_per_update or update_freq * num_shards
        check_update_freq(update_freq, batches, num_shards)
        if self.cfg.virtual_epoch_updates and self.epochs_of_pass is None:
            updates = steps_of(len(batches_of(1).frozen_batches), batches)
            self.epochs_of_pass = steps_of(updates, self.cfg.virtual_epoch_updates)
        iterator = batches_of(pass_of(epoch, self.epochs_of_pass or 1))
        if not iterator.frozen_batches:
            raise InputError(
                f"nothing to train on: no example of the set {self.cfg.train_subset} is within --max-tokens,"
                " --max-source-positions and --max-target-positions; give larger ones"
            )
        return UpdateIterator(iterator, batches, epoch, self.epochs_of_pass or 1)

    def filter_indices_by_size(
        self, indices, dataset, max_positions=None, ignore_invalid_inputs=False
    ) -> np.ndarray:
        """fairseq's hook: leave out examples that are too long, and say how many. Training and validation
        always do; a generation does with `--skip-invalid-size-inputs-valid-test`, as its output lacks lines
        then.

        Raises:
            InputError: a sentence is too long for a generation, or none of a validation set is left.
        """
        kept, too_long = dataset.filter_indices_by_size(indices, max_positions)
        if not too_long:
            return kept
        most = max_positions if isinstance(max_positions, tuple) else (max_positions, max_positions)
        counts = (
            f"{dataset.split or 'input'}: {len(too_long):,} of {len(indices):,} examples are longer than"
            f" {most[0]} source or {most[1]} target tokens (--max-source-positions, --max-target-positions)"
        )
        measures = self.loss_names != ()  # a criterion was built: it is no generation
        if not measures and not ignore_invalid_inputs:
            raise InputError(
                f"{counts}; `python -m eval translate` cuts them, --skip-invalid-size-inputs-valid-test"
                " leaves them out"
            )
        is_training = dataset is self.datasets.get(self.cfg.train_subset)
        if not len(kept) and not is_training:
            raise InputError(f"{counts}; nothing is left to measure")
        if counts not in self._said:
            logger.warning("%s; they are left out", counts)
        self._said.add(counts)
        return kept

    # --- model and criterion

    def build_model(self, cfg, from_checkpoint=False):
        if not from_checkpoint:
            check_ranges(cfg)
        model = super().build_model(cfg, from_checkpoint)
        if self.tags and self.tags.placement.embedded:
            embed_languages(model, self.tags, self.dictionary)
        self.model_sizes = ModelSizes.of(model, self.dictionary, self.tags.languages if self.tags else ())
        self.required_losses = getattr(model, "required_losses", ())
        self._check_announcement(model)
        if not from_checkpoint:
            check_training(self.cfg)
            if self.cfg.compile:
                compile_layers(model)
            self.initialized_from = initializing.finetuned_from(cfg)
            if not self.initialized_from and (weights := getattr(model.encoder, "started_from", None)):
                self.initialized_from = origin.origin_of_file(weights)
        return model

    def _check_announcement(self, model) -> None:
        """All models of an ensemble read the same sentences: one that is not told the target would take the
        tag that is announced to another one for a word.
        """
        layers = getattr(getattr(model.encoder, "cfg", None), "target_embedding_layers", 0)
        announced = bool(layers and self.tags and self.tags.announces_target)
        if self._announced not in (None, announced):
            raise InputError(
                "--path: some of the models are told the target language (--target-embedding-layers) and"
                " others are not; models of an ensemble read the same input"
            )
        self._announced = announced

    def build_criterion(self, cfg, from_checkpoint=False):
        if not from_checkpoint:
            check_ranges(cfg)
        criterion = super().build_criterion(cfg, from_checkpoint)
        for name in self.required_losses:
            if name not in getattr(criterion, "losses", ()):
                raise InputError(
                    f"--losses: a part of the model learns from {name} alone; add it with "
                    f"--criterion weighted_losses --losses translation,{name}"
                )
        self.loss_names = getattr(criterion, "names", (TRANSLATION,))
        self.unused_options = getattr(criterion, "unused_options", [])
        self.unlogged = self._unlogged(criterion)
        self.batch_fields = getattr(criterion, "batch_fields", ())
        self.after_update = getattr(criterion, "after_update", None)
        return criterion

    def _unlogged(self, criterion) -> dict[str, str]:
        """What a validation with the criterion does not log, and what it would take."""
        missing = {name: f"{name} among --losses" for name in LOSSES if name not in self.loss_names}
        if TRANSLATION not in self.loss_names:
            return missing | dict.fromkeys(OF_TRANSLATION, f"{TRANSLATION} among --losses")
        if getattr(criterion, "is_translation_loss", True):
            missing[TRANSLATION_LOG] = f"losses beside {TRANSLATION}, where it is what loss is"
        if not getattr(criterion, "report_accuracy", False):
            missing[ACCURACY] = "--report-accuracy"
        return missing

    def begin_epoch(self, epoch, model):
        """fairseq's hook, before the first update of an epoch."""
        super().begin_epoch(epoch, model)
        self._warn_of_unused_options()
        self._check_measures_are_logged()
        self._check_decoder_is_trained()
        self._check_whole_sets_are_measured()

    def _warn_of_unused_options(self) -> None:
        """Not refused: recipes give the options behind `--` to systems with and without the loss."""
        if self.unused_options:
            logger.warning(
                "%s: no effect, because --losses %s does not name their losses",
                ", ".join(self.unused_options),
                ",".join(self.loss_names),
            )
        self.unused_options = []  # said once

    def _check_measures_are_logged(self) -> None:
        for measure in chosen_measures(self.cfg):
            if measure in self.unlogged:  # fairseq would find out at the first validation
                raise InputError(f"{measure} is not measured without {self.unlogged[measure]}")
            part, validated = OF_A_PART.fullmatch(measure), self.measured_parts()
            if part and part[1] not in validated:
                raise InputError(
                    f"{measure}: {part[1]} is not validated; expected one of {', '.join(validated)}"
                )

    def measured_parts(self) -> list[str]:
        """What a validation logs measures of besides those of all, `loss_PART` and others."""
        return []

    def _check_decoder_is_trained(self) -> None:
        """DistributedDataParallel waits for the gradients of all parameters."""
        waits = self.cfg.ddp_backend in WAITING_BACKENDS and self.cfg.find_unused_parameters is not True
        has_decoder = self.model_sizes is not None and self.model_sizes.has_decoder
        if world_size() > 1 and waits and has_decoder and TRANSLATION not in self.loss_names:
            raise InputError(
                f"--losses {','.join(self.loss_names)}: leave parts of the decoder without gradients, which"
                f" --ddp-backend {self.cfg.ddp_backend} waits for; add {TRANSLATION}, or"
                " --find-unused-parameters"
            )

    def _check_whole_sets_are_measured(self) -> None:
        steps = self.cfg.max_valid_steps
        for split, dataset in self.datasets.items():
            if split != self.cfg.train_subset and isinstance(steps, int) and len(dataset.parts) > 1:
                raise InputError(
                    f"--max-valid-steps {steps}: would measure the first parts of {split} only; expected"
                    " none, or a smaller set"
                )

    def optimizer_step(self, optimizer, model, update_num):
        super().optimizer_step(optimizer, model, update_num)
        if self.after_update is not None:
            self.after_update(model, update_num + 1)

    # --- steps

    def autocast(self, sample):
        """bfloat16 products with `--autocast-bf16`."""
        if not self.cfg.autocast_bf16:
            return contextlib.nullcontext()
        return torch.autocast(sample["net_input"]["src_tokens"].device.type, dtype=torch.bfloat16)

    @contextlib.contextmanager
    def computing(self, sample) -> Iterator[None]:
        """The context in which the model is called for a batch."""
        with self.autocast(sample):
            yield

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        self._stop_if_trained(update_num)
        if update_num == 0:
            self.improvements.restart()
        model.train()
        model.set_num_updates(update_num)
        criterion.train(not ignore_grad)  # nobody learns from a batch that stands in for an empty one
        with self.computing(sample), contributing_nothing() if ignore_grad else contextlib.nullcontext():
            loss, sample_size, logging_output = criterion(model, sample)
        criterion.train()
        if not loss.requires_grad:
            raise InputError(
                "--freeze-encoder: the losses look at nothing that is trained; expected one of vectors"
            )
        optimizer.backward(0 * loss if ignore_grad else loss)
        if ignore_grad:  # an empty batch: fairseq computes another in its place, whose size does not count
            return loss, 0 * sample_size, {name: 0 * value for name, value in logging_output.items()}
        return loss, sample_size, logging_output

    def _stop_if_trained(self, update_num: int) -> None:
        """End a training that was killed between its last save and its exit: fairseq looks at --max-update
        after an update only.
        """
        if self.cfg.max_update and update_num >= self.cfg.max_update:
            logger.info(f"nothing to train: {update_num} updates, --max-update is {self.cfg.max_update}")
            raise SystemExit(0)

    def valid_step(self, sample, model, criterion):
        model.eval()
        criterion.to(sample["net_input"]["src_tokens"].device)  # fairseq-validate moves the model alone
        with torch.no_grad(), self.computing(sample):
            return criterion(model, sample)

    def begin_valid_epoch(self, epoch, model):
        self.improvements.begin()

    def post_validate(self, model, stats, agg):
        """fairseq's hook after a validation set, with what was logged."""
        self.improvements.validated(stats)

    def reduce_metrics(self, logging_outputs, criterion):
        if not criterion.training:
            self.improvements.log()
        if any(log.get("sample_size", 0) for log in logging_outputs):
            super().reduce_metrics(logging_outputs, criterion)
        else:  # only what selects no checkpoint: an average over nothing must not divide by zero
            metrics.log_scalar("loss", 0, weight=0)
