"""Our BERT-score is that of the library `bert-score` (Zhang et al. 2020) on the same model."""

import torch

from fairseq_ext.modules.similarity import TokenStates, bert_score
from tests.embeddings.encoders.folders import write_transformers

SOURCES = ["a house", "two dogs", "the cat sleeps"]
TARGETS = ["two dogs and a cat", "the cat sleeps", "dogs and a house", "two"]


def token_states(model, tokenizer, lines: list[str]) -> TokenStates:
    batch = tokenizer(lines, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = model(**batch).last_hidden_state
    specials = torch.isin(batch["input_ids"], torch.tensor([tokenizer.cls_token_id, tokenizer.sep_token_id]))
    return TokenStates.of(states, batch["attention_mask"] == 0, specials, cosine=True)


def test_precision_recall_and_f_of_all_pairs_are_the_librarys(tmp_path):
    from bert_score import BERTScorer
    from transformers import AutoModel, AutoTokenizer

    folder = str(write_transformers(tmp_path / "bert"))
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    found = bert_score(*(token_states(model, tokenizer, lines) for lines in (SOURCES, TARGETS)))
    library = BERTScorer(model_type=folder, num_layers=2, device="cpu", nthreads=0)
    pairs = [(source, target) for source in SOURCES for target in TARGETS]
    references, candidates = map(list, zip(*pairs, strict=True))
    for mine, theirs in zip(found, library.score(candidates, references), strict=True):
        torch.testing.assert_close(mine.flatten(), theirs)
    assert found.f.std() > 0.01
