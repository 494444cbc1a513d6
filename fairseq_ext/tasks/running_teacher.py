"""A teacher inside the training, where there is no room on the disk for its vectors: a sentence encoder over
the dictionary of the data, ours or a folder of `transformers` or `sentence-transformers`. It computes what
`python -m embeddings encode --data` would have stored.
"""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import torch
from fairseq import utils
from torch import Tensor, nn

from command_line.errors import InputError
from command_line.outputs import checksum
from data_prep.model_folders.identity import files_of
from data_prep.model_folders.loading import load_modules, load_tokenizer, prompt_of
from data_prep.model_folders.models import KIND
from data_prep.model_folders.modules import KIND as MODULES
from data_prep.model_folders.modules import MODULES_LIST
from data_prep.transformers_tokenizer import TransformersTokenizer
from fairseq_ext.axes.record import describe
from fairseq_ext.checkpoints.finite import check_weights
from fairseq_ext.checkpoints.origin import teacher_of
from fairseq_ext.checkpoints.reading import as_one_line, read_checkpoint
from fairseq_ext.data.sentence_pairs import CutSentences, uncut
from fairseq_ext.data.teachers import Teacher, TokensForTeacher
from fairseq_ext.losses.weighted_loss import vectors_of
from fairseq_ext.models.pretrained_configuration import OPTION as PRETRAINED
from fairseq_ext.models.pretrained_encoder import data_tokenizer

OPTION, POOLING = "--teacher-checkpoint", "--teacher-pooling"
UNLIMITED = 1 << 20  # tokens: as many as the encoder reads


class RunningTeacher(Teacher):
    """Encodes every batch, without gradient and in the precision of its weights.

    Args:
        module: a sentence encoder, of tokens, B x T, and their numbers, B.
        longest: tokens that it reads of a sentence, `</s>` included.
        eos, pad: token ids.
    """

    def __init__(self, module: nn.Module, longest: int, eos: int, pad: int, encoder: dict):
        self.module = module.requires_grad_(False).eval()
        self.longest, self.eos, self.pad, self.encoder = longest, eos, pad, encoder
        self.skips_empty = encoder["kind"] not in (KIND, MODULES)  # which give the vector of [CLS] and [SEP]

    @classmethod
    def load(cls, path: Path, pooling: str | None, make_task: Callable) -> "RunningTeacher":
        """The teacher in a checkpoint of ours, or in a folder of the tokenizer of the data.

        Args:
            pooling: of a folder of `transformers`.
            make_task: a task of the student's data, of `max_source_positions`.

        Raises:
            InputError: neither, one of another dictionary than the data's, or a pooling is missing or one
                too many.
        """
        if path.is_dir():
            return cls._of_folder(path, pooling, make_task(UNLIMITED))
        if not path.is_file():
            raise InputError(
                f"{OPTION} {path}: no such file; expected a checkpoint, or a folder of {MODULES} or {KIND}"
            )
        if pooling:
            raise InputError(
                f"{POOLING} {pooling}: {path} is a checkpoint, which pools by itself; leave it out"
            )
        return cls._of_checkpoint(path, make_task)

    @classmethod
    def _of_folder(cls, folder: Path, pooling: str | None, task) -> "RunningTeacher":
        if (folder / MODULES_LIST).is_file():
            return cls._of_modules(folder, pooling, task)
        if not pooling:
            raise InputError(
                f"{OPTION} {folder}: a folder of {KIND} says not how it is pooled; give {POOLING}"
            )
        task.add_tags([], "none")  # a teacher reads no language
        options = Namespace(_name="sentence_encoder", arch="sentence_encoder", pooling=pooling)
        options.pretrained_encoder = str(folder)
        try:
            model = task.build_model(options)
        except InputError as error:  # which names the option of an encoder that is trained
            raise InputError(str(error).replace(PRETRAINED, OPTION)) from None
        record = {
            "name": f"{folder.resolve().name} ({pooling})",  # other vectors with another pooling
            "kind": KIND,
            "width": model.encoder.sentence_width,
            "weights": files_of(folder),
            "pooling": pooling,
        }
        teacher = cls._of_task(model, task, record)
        own = load_tokenizer(folder, OPTION)
        teacher.longest = min(teacher.longest, own.model_max_length - 1)  # which counts <s>
        return teacher

    @classmethod
    def _of_modules(cls, folder: Path, pooling: str | None, task) -> "RunningTeacher":
        if pooling:
            raise InputError(
                f"{POOLING} {pooling}: {folder / MODULES_LIST} says how it is pooled; leave it out"
            )
        model = load_modules(folder, OPTION)
        if prompt_of(model):
            raise InputError(
                f"{OPTION} {folder}: puts a prompt in front of every sentence, which a training does not;"
                " store its vectors by `python -m embeddings encode --data`"
            )
        try:
            tokenizer = data_tokenizer(utils.split_paths(task.cfg.data)[0], folder)
        except InputError as error:
            raise InputError(str(error).replace(PRETRAINED, OPTION)) from None
        module = FolderModules(model, tokenizer, task.dictionary)
        record = {
            "name": folder.resolve().name,
            "kind": MODULES,
            "width": model.get_embedding_dimension(),
            "weights": files_of(folder),
        }
        longest = (model.max_seq_length or UNLIMITED) - 1  # which counts <s>
        return cls(module, longest, task.dictionary.eos(), task.dictionary.pad(), record)

    @classmethod
    def _of_checkpoint(cls, path: Path, make_task: Callable) -> "RunningTeacher":
        state = read_checkpoint(str(path))
        with as_one_line(path):
            saved = state["cfg"]["task"]
            if saved.get("_name") != "sentence_embedding":
                raise InputError(
                    f"{OPTION} {path}: is of the task {saved.get('_name')!r}, expected sentence_embedding;"
                    " store the vectors of other teachers with `python -m embeddings encode --data`"
                )
            task = make_task(saved["max_source_positions"])
            task.load_state_dict(state["task_state"])
            model = task.build_model(state["cfg"]["model"], from_checkpoint=True)
            model.load_state_dict(state["model"], strict=True)
        check_weights(model, str(path))
        own = teacher_of(state, path)
        system = describe(state["cfg"], task.tags.placement_name, task.initialized_from, teacher=own)
        record = {
            "name": system["name"],
            "kind": "checkpoint",
            "width": model.encoder.sentence_width,
            "weights": {path.name: checksum(path)},
            "pooling": "own",  # as `embeddings encode` says of a model that pools by itself
        }
        return cls._of_task(model, task, record)

    @classmethod
    def _of_task(cls, model, task, encoder: dict) -> "RunningTeacher":
        eos, pad = task.dictionary.eos(), task.dictionary.pad()
        return cls(model.encoder, task.max_positions()[0], eos, pad, encoder)

    def field(self, folder, split, direction, sides):
        return TokensForTeacher([CutSentences(uncut(side), self.longest, self.eos) for side in sides])

    def complete(self, batch: dict) -> dict:
        tokens = batch["teacher"]
        return {**batch, "teacher": {side: self._vectors(of) for side, of in tokens.items()}}

    @torch.no_grad()
    def _vectors(self, tokens: Tensor) -> Tensor:
        """B x T -> B x Ct; of a sentence without words what is stored, of checkpoints zeros."""
        self.module.to(tokens.device)
        lengths = tokens.ne(self.pad).sum(dim=1)
        vectors = vectors_of(self.module(tokens, lengths))
        return vectors.float() * lengths.gt(1).unsqueeze(1) if self.skips_empty else vectors.float()


class FolderModules(nn.Module):
    """A model of `sentence-transformers` over the dictionary of the data.

    Args:
        tokenizer: of the data, and of the model.
    """

    def __init__(self, model, tokenizer: TransformersTokenizer, dictionary):
        super().__init__()
        self.model, self.start, self.pad = model, dictionary.bos(), dictionary.pad()
        ids = torch.from_numpy(tokenizer.tokenizer_ids(dictionary))
        unknown = ids[dictionary.unk()].clamp(min=0)  # as what the dictionary pads itself with
        self.register_buffer("ids", torch.where(ids < 0, unknown, ids), persistent=False)

    def forward(self, tokens: Tensor, lengths: Tensor) -> dict:
        """B x T, padded on the right, without `<s>` -> "sentence_vectors", B x C."""
        read = torch.cat([torch.full_like(tokens[:, :1], self.start), tokens], dim=1)
        features = {"input_ids": self.ids[read], "attention_mask": read.ne(self.pad).long()}
        return {"sentence_vectors": self.model(features)["sentence_embedding"]}
