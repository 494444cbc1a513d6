"""Every command of docs/export.md as it stands; a tiny encoder and text stand for the real ones."""

import embeddings.__main__ as embeddings_commands
import fairseq_ext.__main__ as training_commands
from command_line.dispatch import run
from tests.documented_commands import shown
from tests.fairseq_ext.export.folders import write_data, write_encoder

PAGE = "docs/export.md"
COMMANDS = {"fairseq_ext": training_commands.COMMANDS, "embeddings": embeddings_commands.COMMANDS}


def test_the_commands_of_the_guide_run_as_they_stand(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models/ems").mkdir(parents=True)
    write_encoder(tmp_path / "models/ems/checkpoint_best.pt", write_data(tmp_path / "data/raw"))
    commands = [one.words for one in shown() if one.page == PAGE]
    assert commands
    for words in commands:
        assert run(words[2], "", COMMANDS[words[2]], words[3:]) == 0, (words, capsys.readouterr().err)
    assert (tmp_path / "exported/modules.json").is_file()
    assert (tmp_path / "p-at-1/int8/sentence-retrieval.json").is_file()
