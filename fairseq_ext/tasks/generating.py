"""Generation by a task: searches that begin with the right language tags."""

import contextlib

import torch

from command_line.errors import InputError
from fairseq_ext.checkpoints.finite import check_weights
from fairseq_ext.tasks.base import BaseTask


class GeneratingTask(BaseTask):
    """A task whose models translate, each sentence into the language that the batch says, or, where it says
    none (fairseq-interactive), `--target-lang`.
    """

    def build_generator(self, models, args, seq_gen_cls=None, extra_gen_cls_kwargs=None, **kwargs):
        for option in ("print_alignment", "constraints"):
            if getattr(args, option, None):
                raise InputError(f"--{option.replace('_', '-')}: is not for these models; expected none")
        for model in models:
            check_weights(model, "the model")  # fairseq would write empty lines
        extra = {"symbols_to_strip_from_output": self.tags.all_ids() | {self.dictionary.eos()}}
        return super().build_generator(
            models, args, seq_gen_cls, {**extra, **(extra_gen_cls_kwargs or {})}, **kwargs
        )

    def inference_step(self, generator, models, sample, prefix_tokens=None, constraints=None):
        """Generate; the decoder's language tag is forced as the first token, as in training."""
        if prefix_tokens is None:
            prefix_tokens = self._forced_tags(sample)
        starts = self._decoder_starts(sample)
        if starts is not None and hasattr(generator, "beam_size"):
            starts = starts.repeat_interleave(generator.beam_size)  # one per row of the search
        first = {} if starts is None else {"bos_token": starts}
        # layers compiled for training would be compiled anew for every length of the cache
        stance = torch.compiler.set_stance("force_eager") if self.cfg.compile else contextlib.nullcontext()
        with torch.no_grad(), self.autocast(sample), stance:
            return generator.generate(
                models, sample, prefix_tokens=prefix_tokens, constraints=constraints, **first
            )

    def _decoder_starts(self, sample) -> torch.Tensor | None:
        """B tags in place of `</s>`, or None."""
        if "decoder_start" in sample or not self.tags.placement.starts_decoder:
            return sample.get("decoder_start")
        source = sample["net_input"]["src_tokens"]  # of fairseq-interactive, as in `_forced_tags`
        return source.new_full((len(source),), self.tags.decoder_start_id(self.cfg.target_lang))

    def _forced_tags(self, sample) -> torch.Tensor | None:
        """B x 1, or None without a tag on the decoder."""
        tags = sample.get("prefix_tokens")
        if tags is None:  # fairseq-interactive keeps the source of our batches only
            source = sample["net_input"]["src_tokens"]
            tags = source.new_tensor([self.tags.decoder_ids(self.cfg.target_lang)] * len(source))
        return tags if tags.size(1) else None
