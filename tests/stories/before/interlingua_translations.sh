# translations of trainings that nobody repeats for a test
python - << END
from pathlib import Path
from tests.stories.materials import write_translations
for system in ("variable", "repaired", "fixed-universal"):
    for seed in (1, 10):
        folder = Path(f"OUT/translations/{system}-seed{seed}")
        write_translations(folder, system, seed, Path("OUT/data/multi30k"), "de-en", "en-de")
END
python -m eval score OUT/translations/*
