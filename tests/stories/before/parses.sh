# parsers of others have parsed the text
python - << END
from pathlib import Path
from tests.stories.materials import write_parses
write_parses(Path("corpus/tok"), Path("enju/output"), "en", "xml")
write_parses(Path("corpus/tok"), Path("udpipe/output"), "fr", "conllu")
END
