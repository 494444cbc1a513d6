"""Answers against generate of transformers, prompt by prompt; what is asked twice, and again after a kill."""

import pytest
import torch
import transformers

from command_line.journal import Journal
from command_line.lines import read_lines
from command_line.outputs import write_text
from llm.generation import Answers, Search, first_line
from llm.language_model import load_model, load_tokenizer
from tests.llm.tiny_model import write_bloom
from tests.llm.toy_text import WORDS

PROMPTS = ["house:", "dog", "the river, garden and bread of a child:", "Haus Baum", "école: eau", "b"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model whose answers differ: its weights are larger than those of a new one."""
    lines = [" ".join(words) for words in WORDS.values()]
    folder = write_bloom(tmp_path_factory.mktemp("generation") / "bloom", lines, 300, width=16, layers=2)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    torch.manual_seed(4)
    for value in model.parameters():
        value.data += torch.randn_like(value) * 0.3
    model.save_pretrained(folder)
    return folder


@pytest.fixture
def parts(folder):
    return load_model(folder, "float32").eval(), load_tokenizer(folder)


@pytest.fixture
def ask(parts, tmp_path):
    """Answers of a new run to prompts."""

    def call(prompts=PROMPTS, journal: str | None = None, of=parts, **changes) -> list[str]:
        search = Search(**{"beam": 1, "max_input": 50, "max_output": 8, "batch_sentences": 4} | changes)
        with Journal(tmp_path / (journal or str(changes)), {}, keep=journal is not None) as opened:
            return Answers(*of, search).to(prompts, opened, "translate")

    return call


def expected(parts, prompt: str, **options) -> str:
    """What transformers generates, alone and to the maximal length; the first line of it."""
    model, tokenizer = parts
    tokens = torch.tensor([tokenizer(prompt)["input_ids"]])
    output = model.generate(
        tokens, do_sample=False, attention_mask=torch.ones_like(tokens), pad_token_id=3, eos_token_id=2,
        **{"max_new_tokens": 8} | options,
    )  # fmt: skip
    text = tokenizer.decode(output[0, tokens.shape[1] :], skip_special_tokens=True)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return next((line for line in lines if line), "")


@pytest.mark.parametrize("batch", [1, 4, 6])
def test_answers_are_those_of_generate_whatever_the_batch(ask, parts, batch):
    answers = ask(batch_sentences=batch)
    assert answers == [expected(parts, prompt) for prompt in PROMPTS]
    assert len(set(answers)) > 4


def test_answers_of_a_beam_search(ask, parts):
    answers = ask(beam=3)
    assert answers == [expected(parts, prompt, num_beams=3) for prompt in PROMPTS]
    assert answers != ask()


def test_long_prompts_are_cut_behind(ask, parts):
    _, tokenizer = parts
    cut = tokenizer.decode(tokenizer(PROMPTS[2])["input_ids"][:4])
    assert ask([PROMPTS[2]], max_input=4) == [expected(parts, cut)]


def test_what_the_model_says_about_sampling_is_not_followed(ask, parts):
    """Models that chat come with a temperature, a penalty of repetitions and the like."""
    model, tokenizer = parts
    before = ask()
    model.generation_config = transformers.GenerationConfig(
        do_sample=True, temperature=5.0, repetition_penalty=3.0, num_beams=2, eos_token_id=2, pad_token_id=3
    )
    assert ask(of=(model, tokenizer)) == before


def test_a_tokenizer_that_ends_texts_is_not_asked_behind_the_end(ask, parts):
    """As in tuning, where the answer follows the question."""
    from tokenizers import processors

    model, tokenizer = parts
    before = ask()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", tokenizer.eos_token_id)]
    )
    assert tokenizer("dog")["input_ids"][-1] == tokenizer.eos_token_id
    assert ask(of=(model, tokenizer)) == before


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (" The house. ", "The house."),
        ("\n \n a  b\nc", "a  b"),
        ("a\u2028b\u3000c\u00a0d", "a\u2028b\u3000c\u00a0d"),  # as references have them
        ("a\r\nb", "a"),
        ("\0\n a\0b\0 \nc", "ab"),  # no text has them
        ("", ""),
        ("\n", ""),
    ],
)
def test_the_first_line_is_taken(text, line):
    assert first_line(text) == line


@pytest.mark.parametrize("character", [chr(one) for one in (*range(32), 127, 0x85, 0x2028, 0xFEFF, 0xFFFD)])
def test_a_file_of_answers_has_a_line_of_each(tmp_path, character):
    """Whatever a tokenizer of bytes makes of them."""
    answers = [first_line(f"a{character}b"), first_line(f"{character}c"), first_line(f"d{character}")]
    write_text(tmp_path / "answers.txt", "".join(f"{line}\n" for line in ["", *answers]))
    assert list(read_lines(tmp_path / "answers.txt")) == ["", *answers]
    assert all(answers)


class Typing(torch.nn.Module):
    """Gives the tokens of a text, whatever it is asked."""

    def __init__(self, tokenizer, text: str, model):
        super().__init__()
        self.tokens, self.model, self.calls = tokenizer(text)["input_ids"], model, 0
        self.model.forward = self.typed

    def typed(self, input_ids, **kwargs):
        from transformers.modeling_outputs import CausalLMOutputWithPast

        scores = torch.zeros(len(input_ids), 1, self.model.config.vocab_size)
        scores[:, -1, self.tokens[self.calls % len(self.tokens)]] = 9.0
        self.calls += 1
        return CausalLMOutputWithPast(logits=scores)


@pytest.mark.parametrize(
    ("text", "line", "least"),
    [
        (" dog house\n river river river", "dog house", 3),
        ("\n\n dog\n river river river", "dog", 4),
        (" \n \n dog\n river river river", "dog", 6),  # lines of spaces are none
    ],
)
def test_an_answer_ends_behind_its_first_line(ask, parts, text, line, least):
    model, tokenizer = parts
    typing = Typing(tokenizer, text, model)
    stop = tokenizer(text.rpartition("\n")[0] + "\n")["input_ids"]
    assert ask(["dog", "a longer one"], max_output=40, of=(model, tokenizer)) == [line, line]
    assert typing.calls == len(stop) >= least


@pytest.fixture
def asked(monkeypatch) -> list[int]:
    """How many prompts every batch had."""
    batches, answer = [], Answers._answer

    def counting(self, batch):
        batches.append(len(batch))
        return answer(self, batch)

    monkeypatch.setattr(Answers, "_answer", counting)
    return batches


def test_the_same_prompt_is_asked_once(ask, asked):
    answers = ask(["dog", "b", "dog", "dog", "b"])
    assert asked == [2]
    assert answers[0] == answers[2] == answers[3] and answers[1] == answers[4]


def test_what_was_answered_before_a_kill_is_not_asked_again(ask, asked, monkeypatch):
    whole = ask(batch_sentences=2)
    del asked[:]
    answer, calls = Answers._answer, []

    def killed(self, batch):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return answer(self, batch)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Answers, "_answer", killed)
        ask(journal="kept", batch_sentences=2)
    assert asked == [2]
    assert ask(journal="kept", batch_sentences=2) == whole
    assert asked == [2, 2, 2]


def test_answers_of_another_task_are_others(parts, tmp_path, asked):
    search = Search(beam=1, max_input=50, max_output=4, batch_sentences=4)
    with Journal(tmp_path / "journal", {}) as journal:
        Answers(*parts, search).to(["dog"], journal, "to en")
        Answers(*parts, search).to(["dog", "b"], journal, "from en")
        Answers(*parts, search).to(["dog", "b"], journal, "from en")
    assert asked == [1, 2]


def test_prompts_that_lose_their_ends_are_known_whenever_they_were_answered(parts, tmp_path):
    search = Search(beam=1, max_input=3, max_output=2, batch_sentences=1)
    for keep in (False, True):
        answers = Answers(*parts, search)
        with Journal(tmp_path / "journal", {}, keep=keep) as journal:
            answers.to(["dog", PROMPTS[2], PROMPTS[2]], journal, "translate")
        assert answers.cut == {PROMPTS[2]}
