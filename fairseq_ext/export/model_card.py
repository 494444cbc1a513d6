"""The model card of an exported encoder: what its checkpoint and its data say of its training."""

from dataclasses import dataclass
from pathlib import Path

from command_line.records import read_json
from data_prep.formats.preparation import Preparation
from fairseq_ext.checkpoints.origin import teacher_of
from fairseq_ext.checkpoints.progress import updates_of
from fairseq_ext.export.encoder_graph import EncoderGraph
from fairseq_ext.inference import LoadedModel
from fairseq_ext.training_record import RECORD

CODE = {
    "sentence-transformers": """from sentence_transformers import SentenceTransformer

encoder = SentenceTransformer("PATH OF THIS FOLDER")
vectors = encoder.encode(["A sentence.", "Ein Satz."])""",
    "onnx": """import onnxruntime
from transformers import PreTrainedTokenizerFast

tokenizer = PreTrainedTokenizerFast.from_pretrained("PATH OF THIS FOLDER")
session = onnxruntime.InferenceSession("PATH OF THIS FOLDER/model.onnx")
batch = tokenizer(["A sentence.", "Ein Satz."], padding=True, truncation=True, return_tensors="np")
(vectors,) = session.run(None, {name: batch[name] for name in ("input_ids", "attention_mask")})""",
}
TEMPLATE = """---
library_name: {library}
pipeline_tag: sentence-similarity
language:
{languages}
tags:
- {library}
- sentence-similarity
- feature-extraction
---

# {name}

A multilingual sentence encoder: text to vectors of {width} numbers, compared by their cosine.

```python
{code}
```

{text}

## Model

| | |
|---|---|
{facts}

Vectors of fewer bits: `sentence_transformers.quantize_embeddings(vectors, "int8")` or `"ubinary"`.

## Training

| | |
|---|---|
{training}

## Equality with the trained checkpoint

{parity}
"""


@dataclass(frozen=True)
class Card:
    """What the model card is made of.

    Attributes:
        graph: of the encoder; None of one of transformers, whose card is an `EncoderCard`.
        expects: what must have split the text into words; empty for raw text.
        form: a key of FORMATS.
    """

    checkpoint: Path
    loaded: LoadedModel
    preparation: Preparation
    graph: EncoderGraph | None
    expects: str
    form: str

    def text(self, parity: dict) -> str:
        """The card; `parity` is what `check_parity` returns, nothing if nothing was compared."""
        return TEMPLATE.format(
            library=self.form,
            code=self.code,
            name=self.loaded.system()["name"],
            languages="\n".join(f'- "{language}"' for language in self.preparation.languages),
            width=self.width,
            text=_text(self.expects, self.longest),
            facts=_table(self._facts()),
            training=_table(self._training()),
            parity=_parity(parity),
        )

    @property
    def code(self) -> str:
        """The few lines of Python that use the folder."""
        return CODE[self.form]

    @property
    def width(self) -> int:
        """The width of a vector."""
        return self.graph.head.sentence_width

    @property
    def longest(self) -> int:
        """Tokens that the encoder reads."""
        return self.graph.longest

    def _facts(self) -> dict:
        graph = self.graph
        facts = {
            "layers": len(graph.layers),
            "width of states": graph.width,
            "width of vectors": graph.head.sentence_width,
            "attention heads": graph.heads,
            "width of feed-forward networks": graph.inner_width,
            "placement of norms": graph.placement,
            "pooling": graph.head.pooling,
            "vocabulary": f"{len(graph.tokens):,}",
            **parameters_of(graph.parameters, graph.tokens.numel()),
        }
        return {name: value for name, value in facts.items() if value is not None}

    def _training(self) -> dict:
        cfg, system = self.loaded.state["cfg"], self.loaded.system()
        pairs = self.preparation.pairs.get("train", {})
        facts = {
            "checkpoint": self.checkpoint.name,
            "teacher": teacher_of(self.loaded.state, self.checkpoint),
            "losses": ", ".join(system.get("losses") or []) or None,
            "updates": updates_of(self.loaded.state),
            "seed": cfg["common"]["seed"],
            "pairs of sentences": f"{sum(pairs.values()):,}" if pairs else None,
            "pairs of languages": ", ".join(sorted(pairs)) or None,
            "checksum of the dictionary": self.preparation.dictionary_sha256,
        }
        record = self.checkpoint.parent / RECORD
        if record.is_file():
            options = read_json(record).get("options", {})
            facts |= {f"`{name}`": value for name, value in options.items() if name != "--save-dir"}
        return {name: value for name, value in facts.items() if value is not None}


def parameters_of(whole: int, embeddings: int) -> dict[str, str]:
    """How many an encoder has, with and without those of its word embeddings."""
    return {
        "parameters": f"{whole:,}",
        "of these, without word embeddings": f"{max(0, whole - embeddings):,}",
    }


def _text(expects: str, longest: int) -> str:
    raw = "Text is raw; the tokenizer of this folder does all that is to be done."
    words = (
        f"Text must have been split into words, separated by spaces, by {expects}, as the training text was:"
        " the tokenizer of this folder begins there."
    )
    return f"{words if expects else raw} Sentences are cut to {longest} tokens, `</s>` counted."


def _parity(parity: dict) -> str:
    if not parity:
        return "Was not looked at."
    return (
        f"On {parity['lines']} lines of {len(parity['languages'])} languages token ids are equal, and the"
        f" lowest cosine between the vector of the checkpoint and the vector of this folder is"
        f" {parity['lowest_cosine']:.7f}."
    )


def _table(rows: dict) -> str:
    return "\n".join(f"| {name} | {str(value).replace('|', chr(92) + '|')} |" for name, value in rows.items())
