# translations of trainings that nobody repeats for a test
python - << END
from pathlib import Path
from tests.stories.materials import write_translations
for system in ("mass+deshuffling", "jass", "enss"):
    for size in ("3000", "10000"):
        for direction in ("ja-en", "en-ja"):
            for seed in (1, 10):
                folder = Path(f"OUT/translations/{system}-{size}-{direction}-seed{seed}")
                write_translations(folder, system, seed, Path("outputs/jass_enss/enja/data/20"), direction)
END
python -m eval score OUT/translations/*
