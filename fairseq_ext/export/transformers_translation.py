"""Format `transformers` of translation models: a stock model of that library with equal logits.

| norms | positions | `--layernorm-embedding` | model |
|---|---|---|---|
| pre | sinusoidal | no | M2M-100 |
| post | sinusoidal | no | FSMT |
| pre | learned | yes | mBART |
| post | learned | yes | BART |

All of them have fairseq's sinusoids and offsets; Marian's sinusoids are others. The tokenizer reads raw text
if the data was made of raw text by sentencepiece. Otherwise it is the dictionary, and reads text that was
split into subwords, as `fairseq-interactive` does.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from fairseq_ext.data.dataset_parts import pad_right
from fairseq_ext.export.affine import Affine
from fairseq_ext.export.encoder_graph import ACTIVATIONS, Stack, refusal
from fairseq_ext.export.raw_text import raw_text_tokenizer
from fairseq_ext.export.translation_graph import TranslationGraph
from fairseq_ext.export.translation_parity import BATCH, CheckedSentence

FAMILIES = {  # placement of norms, learned positions, norm of embeddings: type of model
    ("pre", False, False): "m2m_100",
    ("post", False, False): "fsmt",
    ("pre", True, True): "mbart",
    ("post", True, True): "bart",
}
ACTIVATIONS_THERE = {
    name: ACTIVATIONS[name] for name in ("relu", "gelu", "gelu_fast", "gelu_accurate", "tanh")
}
OFFSET = 2  # rows of a table of learned positions before the first one
PADDING, END = 1, 2  # ids of fairseq's dictionaries


def write_folder(folder: Path, graph: TranslationGraph, loaded, path, data: Path) -> nn.Module:
    """Write configuration, weights, tokenizer and a README; returns the model as the library reads it.

    Args:
        data: the binarized folder of the training.

    Raises:
        InputError: the library has no such model.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when the library is imported
    import transformers

    family = family_of(graph, path)
    dictionary = loaded.task.dictionary
    config = configuration(family, graph, len(dictionary), list(loaded.task.tags.languages))
    model = transformers.AutoModelForSeq2SeqLM.from_config(config)
    fill(model, family, graph)
    model.generation_config.num_beams = 5
    model.save_pretrained(folder)
    tags = loaded.task.tags
    raw = raw_text_tokenizer(data, loaded, len(graph.encoder.positions) - len(tags.placement.encoder), path)
    ends = bool(raw) or not tags.placement.source_ending
    (raw or tokenizer(dictionary, ends)).save_pretrained(folder)
    longest = len(graph.decoder.positions) - 1
    text = (
        readme_of_raw_text(tags, family, path, longest)
        if raw
        else readme(tags, family, path, longest, example(dictionary))
    )
    (folder / "README.md").write_text(text, encoding="utf-8")
    return transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()


def family_of(graph: TranslationGraph, path) -> str:
    """A value of FAMILIES.

    Raises:
        InputError: there is none, or the models of that type have weights or states of another kind.
    """
    kinds = {
        (side.placement, side.learned_positions, side.embedding_norm is not None) for side in graph.sides
    }
    family = FAMILIES.get(next(iter(kinds))) if len(kinds) == 1 else None
    encoder, decoder = graph.sides
    reasons = {
        "no stock model has its norms and positions; expected --norm-placement pre or post on both sides,"
        " with sinusoidal positions, or with learned ones and --layernorm-embedding": family is None,
        "its encoder has no final norm (--no-encoder-final-norm)": (
            encoder.placement == "pre" and encoder.final_norm is None
        ),
        "its decoder has no final norm (--no-decoder-final-norm)": (
            decoder.placement == "pre" and decoder.final_norm is None
        ),
        f"--activation-fn {encoder.activation} is none of {', '.join(ACTIVATIONS_THERE)}": (
            encoder.activation not in ACTIVATIONS_THERE
        ),
        "stock models share all embeddings (--share-all-embeddings)": not (
            torch.equal(encoder.tokens, decoder.tokens)
            and torch.equal(decoder.tokens, graph.projection.weight)
        ),
        "encoder and decoder scale embeddings in other ways": encoder.scale != decoder.scale,
        "it has no positions (--no-token-positional-embeddings)": not encoder.positions.any(),
    }
    for reason, holds in reasons.items():
        if holds:
            raise refusal(path, reason)
    return family


def configuration(family: str, graph: TranslationGraph, vocabulary: int, languages: list[str]):
    """The library's configuration of such a model."""
    import transformers

    encoder, decoder = graph.sides
    sizes = {}
    for name, side in (("encoder", encoder), ("decoder", decoder)):
        sizes[f"{name}_layers"], sizes[f"{name}_ffn_dim"] = len(side.layers), side.inner_width
        sizes[f"{name}_attention_heads"] = side.heads
    own = {
        "langs": languages[:2] or ["src", "tgt"],
        "src_vocab_size": vocabulary,
        "tgt_vocab_size": vocabulary,
    }
    return transformers.AutoConfig.for_model(
        family,
        **(own if family == "fsmt" else {"vocab_size": vocabulary}),
        **sizes,
        d_model=encoder.width,
        max_position_embeddings=max(len(side.positions) for side in graph.sides),
        activation_function=ACTIVATIONS_THERE[encoder.activation],
        scale_embedding=encoder.scale != 1,
        bos_token_id=0,
        pad_token_id=PADDING,
        eos_token_id=END,
        decoder_start_token_id=END,
        forced_eos_token_id=None,
        tie_word_embeddings=True,
    )


def fill(model: nn.Module, family: str, graph: TranslationGraph) -> None:
    """Give a new model the weights of the graph, and see that none is left as it was."""
    weights: dict[str, Tensor] = {}
    for name, side in zip(("encoder", "decoder"), graph.sides, strict=True):
        weights |= weights_of_side(f"model.{name}", side, model.config.max_position_embeddings)
    own = {} if family == "fsmt" else {"model.shared.weight": graph.encoder.tokens}
    head = "model.decoder.output_projection.weight" if family == "fsmt" else "lm_head.weight"
    missing, unexpected = model.load_state_dict(weights | own | {head: graph.projection.weight}, strict=False)
    left = [name for name in missing if not name.endswith(("embed_positions.weight", "final_logits_bias"))]
    if left or unexpected:
        raise RuntimeError(f"{family}: weights without a place: {[*left, *unexpected]}")


def weights_of_side(prefix: str, side: Stack, positions: int) -> dict[str, Tensor]:
    """Weights by the names that fairseq's and the library's models share."""
    layers: dict[str, Affine] = {}
    for number, layer in enumerate(side.layers):
        of_layer = {
            "fc1": layer.inner,
            "fc2": layer.outer,
            "final_layer_norm": layer.feed_forward_norm,
        }
        for name, attention in (("self_attn", layer.attention), ("encoder_attn", layer.cross)):
            if attention is not None:
                of_layer |= {
                    f"{name}.q_proj": attention.query,
                    f"{name}.k_proj": attention.key,
                    f"{name}.v_proj": attention.value,
                    f"{name}.out_proj": attention.output,
                    f"{name}_layer_norm": attention.norm,
                }
        layers |= {f"{prefix}.layers.{number}.{name}": value for name, value in of_layer.items()}
    norms = {"layernorm_embedding": side.embedding_norm, "layer_norm": side.final_norm}
    layers |= {f"{prefix}.{name}": norm for name, norm in norms.items() if norm is not None}
    weights = {f"{prefix}.embed_tokens.weight": side.tokens}
    for name, layer in layers.items():
        weights |= {f"{name}.weight": layer.weight, f"{name}.bias": layer.bias}
    if side.learned_positions:
        table = torch.zeros(positions + OFFSET, side.width)
        table[OFFSET : OFFSET + len(side.positions)] = side.positions
        weights[f"{prefix}.embed_positions.weight"] = table
    return weights


def tokenizer(dictionary, ends: bool):
    """The dictionary as a tokenizer of subwords separated by spaces; `</s>` ends every text if `ends`."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({symbol: id for id, symbol in enumerate(dictionary.symbols)}, "<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if ends:
        made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", END)])
    special = {"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=made, **special)


def scores_of(model: nn.Module, sentences: Sequence[CheckedSentence]) -> list[float]:
    """Scores of given hypotheses."""
    starts = range(0, len(sentences), BATCH)
    return [score for start in starts for score in _scores(model, sentences[start : start + BATCH])]


@torch.inference_mode()
def _scores(model: nn.Module, sentences: Sequence[CheckedSentence]) -> list[float]:
    source = pad_right([torch.tensor(sentence.tokens) for sentence in sentences], PADDING)
    targets = [[*sentence.prefix, *sentence.hypothesis, END] for sentence in sentences]
    starts = [END if sentence.start is None else sentence.start for sentence in sentences]
    previous = [torch.tensor([first, *ids[:-1]]) for first, ids in zip(starts, targets, strict=True)]
    logits = model(
        input_ids=source,
        attention_mask=source.ne(PADDING).long(),
        decoder_input_ids=pad_right(previous, PADDING),
        use_cache=False,
    ).logits
    log_p = logits.float().log_softmax(dim=2)
    return [float(log_p[row, range(len(ids)), ids].sum()) / len(ids) for row, ids in enumerate(targets)]


def example(dictionary) -> str:
    """Two units of the dictionary."""
    return " ".join(dictionary.symbols[dictionary.nspecial : dictionary.nspecial + 2])


def readme(tags, family: str, path, longest: int, units: str) -> str:
    """How the folder is used with the library alone, for text that is split into subwords.

    Args:
        longest: hypothesis of the model, in tokens.
        units: a text.
    """
    placement = tags.placement
    source, target = (f"__{language}__" for language in (*tags.languages, "src", "tgt")[:2])
    named = {"source": source, "target": target}
    before = "".join(f"{named[side]} " for side in placement.encoder)
    after = "".join(f" {named[side]}" for side in placement.source_ending)
    ending = f" </s>{after}" if after else ""
    forced = {
        placement.decoder: f', forced_bos_token_id=tokenizer.convert_tokens_to_ids("{target}")',
        placement.starts_decoder: f', decoder_start_token_id=tokenizer.convert_tokens_to_ids("{target}")',
    }.get(True, "")
    return f"""{head(family, path)} Text is split into
subwords before it comes to the tokenizer, as the training's was. Run this in the folder:

```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForSeq2SeqLM.from_pretrained(".")
batch = tokenizer(["{before}{units}{ending}"], return_tensors="pt", return_token_type_ids=False)
found = model.generate(**batch{forced}, max_new_tokens={min(longest, 200)})
print(tokenizer.batch_decode(found, skip_special_tokens=True))
```

Languages: {", ".join(tags.languages)}.
"""


def readme_of_raw_text(tags, family: str, path, longest: int) -> str:
    """How the folder translates raw text with the library alone.

    Args:
        longest: hypothesis of the model, in tokens.
    """
    placement = tags.placement
    before = "".join(f"tags[{side}], " for side in placement.encoder)
    after = "".join(f", tags[{side}]" for side in placement.source_ending)
    forced = {
        placement.decoder: ", forced_bos_token_id=tags[target]",
        placement.starts_decoder: ", decoder_start_token_id=tags[target]",
    }.get(True, "")
    source, target = (*tags.languages, "src", "tgt")[:2]
    ids = {language: tags.id_of(language) for language in tags.languages}
    return f"""{head(family, path)} It reads raw
text. Run this in the folder:

```python
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForSeq2SeqLM.from_pretrained(".")
tags = {ids}  # of languages, as token ids


def translate(lines, source, target):
    read = tokenizer(lines, truncation=True).input_ids
    sentences = [torch.tensor([{before}*ids{after}]) for ids in read]
    batch = torch.nn.utils.rnn.pad_sequence(sentences, batch_first=True, padding_value={PADDING})
    mask = batch.ne({PADDING})
    found = model.generate(batch, attention_mask=mask{forced}, max_new_tokens={min(longest, 200)})
    return [text.strip() for text in tokenizer.batch_decode(found, skip_special_tokens=True)]


print(translate(["A sentence.", "Another one."], "{source}", "{target}"))
```

Languages: {", ".join(tags.languages)}.
"""


def head(family: str, path) -> str:
    """The first lines of both."""
    return f"""# {Path(path).name}, for transformers

Written by `python -m fairseq_ext export --to transformers`; a model of the type {family}."""
