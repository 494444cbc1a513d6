"""A text that spells a special token has none, wherever a model reads it; what a tokenizer adds is there."""

import pytest
from tokenizers.processors import TemplateProcessing

from llm.generation import Answers, Search
from llm.language_model import load_model, load_tokenizer
from llm.states import tokens_of
from llm.tuning.examples import split_tokens
from tests.llm.tiny_model import write_bloom

SPELLED = "a </s> <s><pad> b </s>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_bloom(tmp_path_factory.mktemp("spelled") / "bloom", ["a b <s> </s>"], 300, width=8, layers=1)


@pytest.fixture
def tokenizer(folder):
    return load_tokenizer(folder)


def test_spelled_symbols_are_text_in_every_reader(folder, tokenizer):
    search = Search(beam=1, max_input=99, max_output=8, batch_sentences=4)
    question, answer = split_tokens(tokenizer, SPELLED, SPELLED)
    prompt = Answers(load_model(folder, "float32"), tokenizer, search).tokens(SPELLED)
    (line,) = tokens_of(tokenizer, [SPELLED], "part")
    for tokens, text in ((question, SPELLED), (answer, f" {SPELLED}"), (prompt, SPELLED), (line, SPELLED)):
        assert not set(tokens) & set(tokenizer.all_special_ids)
        assert tokenizer.decode(tokens, skip_special_tokens=True) == text


def test_what_a_tokenizer_adds_is_there(tokenizer):
    begin, end = tokenizer.bos_token_id, tokenizer.eos_token_id
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", begin), ("</s>", end)]
    )
    question, answer = split_tokens(tokenizer, SPELLED, SPELLED)
    assert question[0] == begin
    assert not {begin, end} & {*question[1:], *answer}
    assert tokenizer.decode(question[1:]) == SPELLED
