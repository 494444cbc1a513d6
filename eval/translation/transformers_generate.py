"""The search of `transformers`: its own `generate`, greedy or with a beam."""

import math
from collections.abc import Sequence
from pathlib import Path

import torch
from torch.nn.utils.rnn import pad_sequence

from command_line.errors import InputError
from data_prep.model_folders.allowed import GENERATION_TOKENS
from data_prep.model_folders.libraries import reading
from data_prep.model_folders.loading import check_complete, load_model
from eval.translation.transformers_languages import KIND, OPTION
from eval.translation.translator import TranslatorOptions


class GenerateSearch:
    """A model on its device.

    Raises:
        InputError: the folder's weights are not complete, or no numbers; a token of its settings is none.
    """

    def __init__(self, folder: Path, options: TranslatorOptions):
        from fairseq_ext.checkpoints.finite import check_weights

        model, notes = load_model(folder, OPTION, KIND, "AutoModelForSeq2SeqLM", dtype="float32")
        check_complete(folder, notes["missing_keys"], with_pooler=True, option=OPTION)
        check_weights(model, f"{OPTION} {folder}")
        cpu = options.decoding.cpu or not torch.cuda.is_available()
        self.device = torch.device("cpu" if cpu else "cuda")
        self.model = model.eval().to(self.device)
        self.options, self.bf16 = options.decoding.search, options.bf16
        self.tokens = _tokens(model, folder)
        self.longest = getattr(model.config, "max_position_embeddings", None) or math.inf
        with reading(folder, KIND, OPTION), torch.inference_mode():  # one that cannot be run is found here
            token = torch.tensor([[self.tokens["decoder_start_token_id"]]], device=self.device)
            model(input_ids=token, decoder_input_ids=token)

    @torch.inference_mode()
    def n_best(
        self, rows: Sequence[list[int]], forced: int | None, count: int, with_scores: bool
    ) -> list[list[tuple[list[int], float]]]:
        """The best hypotheses of every row, as token ids and scores.

        Args:
            rows: token ids of the encoder, everything included.
            forced: the first token of the hypotheses.
        """
        tensors = [torch.tensor(row) for row in rows]
        ids = pad_sequence(tensors, batch_first=True, padding_value=self.tokens["pad_token_id"])
        mask = pad_sequence([torch.ones_like(row) for row in tensors], batch_first=True)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
            generated = self.model.generate(
                input_ids=ids.to(self.device),
                attention_mask=mask.to(self.device),
                generation_config=self._configuration(forced, count, ids.shape[1], with_scores),
                use_model_defaults=False,
            )
        scores = self._scores(generated) if with_scores else [math.nan] * len(generated.sequences)
        pairs = list(zip(generated.sequences.tolist(), scores, strict=True))
        return [pairs[start : start + count] for start in range(0, len(pairs), count)]

    def _configuration(self, forced: int | None, count: int, width: int, with_scores: bool):
        from transformers import GenerationConfig

        options = self.options
        most = int(options.max_len_a * width + options.max_len_b)
        tokens = self.tokens if forced is None else {**self.tokens, "forced_bos_token_id": forced}
        return GenerationConfig(
            **tokens,
            num_beams=options.beam,
            num_return_sequences=count,
            do_sample=False,
            length_penalty=options.lenpen,
            early_stopping=self.model.generation_config.early_stopping if options.beam > 1 else False,
            no_repeat_ngram_size=options.no_repeat_ngram or 0,
            max_new_tokens=min(most, self.longest - 1),
            return_dict_in_generate=True,
            output_scores=with_scores,
        )

    def _scores(self, generated) -> list[float]:
        """Log-probability / length^lenpen; that of a forced token is 0."""
        if self.options.beam > 1:
            return generated.sequences_scores.tolist()
        steps = self.model.compute_transition_scores(
            generated.sequences, generated.scores, normalize_logits=True
        )
        is_token = generated.sequences[:, 1:] != self.tokens["pad_token_id"]
        lengths = is_token.sum(dim=1).clamp(min=1)
        return ((steps * is_token).sum(dim=1) / lengths**self.options.lenpen).tolist()


def _tokens(model, folder: Path) -> dict:
    """Which tokens begin and end what the model writes, by their names in its settings.

    Raises:
        InputError: one is no token of the model; or none begins or pads.
    """
    settings = {name: getattr(model.generation_config, name, None) for name in GENERATION_TOKENS}
    for name in ("decoder_start_token_id", "pad_token_id"):
        if settings[name] is None:
            settings[name] = getattr(model.config, name, None)
        if settings[name] is None:
            raise InputError(f"{OPTION} {folder}: its settings have no {name}; expected it in config.json")
    rows = model.get_input_embeddings().num_embeddings
    for name, value in settings.items():
        for token in _numbers(value):
            if not 0 <= token < rows:
                raise InputError(
                    f"{OPTION} {folder}: its settings have the {name} {token}; expected one of {rows} tokens"
                )
    return {name: value for name, value in settings.items() if value not in (None, [])}


def _numbers(value) -> list[int]:
    if isinstance(value, list):
        return [number for each in value for number in _numbers(each)]
    return [] if value is None else [value]
