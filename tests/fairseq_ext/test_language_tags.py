"""Language tags: literal tokens, and agreement with fairseq's `translation_multi_simple_epoch`."""

from argparse import Namespace

import pytest
import torch
from fairseq.data import ListDataset
from fairseq.data.multilingual.multilingual_data_manager import MultilingualDatasetManager
from fairseq.data.multilingual.multilingual_utils import augment_dictionary, get_lang_tok

from command_line.errors import InputError
from fairseq_ext.data.language_tags import PLACEMENTS, LanguageTags, placement_of_fairseq_options, tag_token
from tests.fairseq_ext.models import toy_dictionary

LANGUAGES = ["de", "en", "fr"]
FAIRSEQ_OPTIONS = {
    "s-enc-t-dec": ("src", True),
    "t-enc": ("tgt", False),
    "t-dec": (None, True),
    "none": (None, False),
}


def tags(placement: str, languages=LANGUAGES):
    dictionary = toy_dictionary(3)
    return LanguageTags(dictionary, languages, placement), dictionary


@pytest.mark.parametrize(
    ("placement", "encoder", "decoder"),
    [
        ("s-enc-t-dec", ["__de__"], ["__fr__"]),
        ("t-enc", ["__fr__"], []),
        ("t-dec", [], ["__fr__"]),
        ("s-enc-t-enc", ["__de__", "__fr__"], []),
        ("none", [], []),
        ("mbart", [], []),
        ("embedded", [], []),
        ("embedded-t-enc", [], []),
    ],
)
def test_where_the_tags_of_de_fr_stand(placement, encoder, decoder):
    found, dictionary = tags(placement)
    assert [dictionary[index] for index in found.encoder_ids("de", "fr")] == encoder
    assert [dictionary[index] for index in found.decoder_ids("fr")] == decoder


def test_every_placement_is_tested_above():
    assert set(PLACEMENTS) == {
        *("s-enc-t-dec", "t-enc", "t-dec", "s-enc-t-enc", "none", "mbart"),
        *("embedded", "embedded-t-enc"),
    }


ENDINGS = {"mbart": ["__de__"], "embedded": ["__de__"], "embedded-t-enc": ["__de__", "__fr__"]}


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_only_some_have_tags_behind_the_source_and_in_place_of_the_decoders_first_token(placement):
    found, dictionary = tags(placement)
    ending, start = found.source_ending_ids("de", "fr"), found.decoder_start_id("fr")
    if placement in ENDINGS:
        assert [dictionary[index] for index in ending] == ENDINGS[placement]
        assert dictionary[start] == "__fr__"
    else:
        assert (ending, start) == ([], None)


def test_tags_follow_the_words_in_the_order_of_the_languages():
    found, dictionary = tags("t-enc", ["fr", "de"])
    assert dictionary.symbols[-5:] == ["w0", "w1", "w2", "__fr__", "__de__"]
    assert found.all_ids() == {len(dictionary) - 2, len(dictionary) - 1}


def test_a_tag_that_the_dictionary_has_already_is_not_added_again():
    dictionary = toy_dictionary(3)
    present = dictionary.add_symbol("__en__")
    found = LanguageTags(dictionary, LANGUAGES, "t-enc")
    assert found.id_of("en") == present
    assert dictionary.symbols.count("__en__") == 1


@pytest.mark.parametrize(
    "use",
    [
        lambda t: t.encoder_ids("de", "xx"),
        lambda t: t.source_ending_ids("xx", "de"),
        lambda t: t.decoder_ids("xx"),
        lambda t: t.decoder_start_id("xx"),
    ],
)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_unknown_language_is_refused_with_a_list_of_the_known(placement, use):
    with pytest.raises(InputError, match="'xx': the model has no tag for it; known languages: de, en, fr"):
        use(tags(placement)[0])


def test_unknown_placement_is_refused_with_a_list_of_the_known():
    with pytest.raises(InputError, match="--language-tags s-dec: expected one of s-enc-t-dec, t-enc"):
        tags("s-dec")


# --- fairseq as the reference


def test_spelling_and_ids_are_fairseqs():
    _, dictionary = tags("s-enc-t-dec")
    expected = toy_dictionary(3)
    augment_dictionary(expected, LANGUAGES, lang_tok_style="multilingual")
    assert dictionary.symbols == expected.symbols
    assert tag_token("de") == get_lang_tok("de", "multilingual")


@pytest.mark.parametrize("placement", FAIRSEQ_OPTIONS)
def test_placement_is_fairseqs(placement):
    encoder, decoder = FAIRSEQ_OPTIONS[placement]
    found, dictionary = tags(placement)
    options = Namespace(
        seed=1, lang_pairs=["de-fr"], extra_lang_pairs=None, lang_tok_style="multilingual",
        lang_tok_replacing_bos_eos=False, source_dict=None, target_dict=None,
    )  # fmt: skip
    manager = MultilingualDatasetManager(
        options, options.lang_pairs, LANGUAGES, dict.fromkeys(LANGUAGES, dictionary), None
    )
    sentence = [toy_dictionary(3).index("w0"), dictionary.eos()]
    original = ListDataset([torch.tensor(sentence)], [len(sentence)])
    source = manager.src_dataset_tranform_func("de", "fr", dataset=original, spec=encoder)
    target = manager.tgt_dataset_tranform_func("de", "fr", dataset=original, spec="tgt" if decoder else None)
    assert source[0].tolist() == found.encoder_ids("de", "fr") + sentence
    assert target[0].tolist() == found.decoder_ids("fr") + sentence


@pytest.mark.parametrize("placement", FAIRSEQ_OPTIONS)
def test_options_of_fairseq_name_the_placement(placement):
    assert placement_of_fairseq_options(*FAIRSEQ_OPTIONS[placement]) == placement


@pytest.mark.parametrize("options", [("src", False), ("tgt", True)])
def test_options_of_fairseq_without_a_name_are_refused(options):
    with pytest.raises(InputError, match="no such tag placement; expected one of s-enc-t-dec"):
        placement_of_fairseq_options(*options)
