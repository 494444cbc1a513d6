"""The numbers of Tables 3.1, 3.3 and A.1 to A.4 of the thesis (3.4 is part of A.4), to stand beside ours.

Sizes are L, d_h, d_ff, H, P and P_E (in millions) and d, the numbers of a vector; then Tatoeba, UN with es,
fr, ru and zh and their mean (P@1), BUCC with de, fr, ru and zh and their mean (F1), all in percent. "-": not
in the tables. "La.": languages of the training.
"""

from eval.reporting.exhibits import Table, cells, number_cell

SIZES = ("L", "d_h", "d_ff", "H", "P (M)", "P_E (M)", "d")
BENCHMARKS = (
    "Tatoeba",
    *(f"UN en-{language}" for language in ("es", "fr", "ru", "zh")),
    "UN",
    *(f"BUCC {language}-en" for language in ("de", "fr", "ru", "zh")),
    "BUCC",
)
LANGUAGES = {"LASER": 93, "m-USE": 16, "SBERT": 50, "EMS": 62, "#0 LaBSE": 109} | {
    f"LEALLA-{size} all": 109 for size in ("small", "base", "large")
}  # "La." of Table 3.3
NUMBERS = """
LASER                      | -   -    -  - 154  - 1024| 65.5    -    -    -    -    - 95.4 92.4 92.3 91.7 93.0
m-USE                      | -   -    -  -  85  -  512|    - 86.1 83.3 88.9 78.8 84.3 88.5 86.3 89.1 86.9 87.7
SBERT                      | -   -    -  - 270  -  768| 67.1    -    -    -    -    - 90.8 87.1 88.6 87.8 88.6
EMS                        | -   -    -  - 148  - 1024| 69.2    -    -    -    -    - 93.3 90.2 91.3 92.1 91.7
#0 LaBSE                   |12 768 3072 12 471 85  768| 83.7 90.8 89.0 90.4 88.3 89.6 95.5 92.3 92.2 92.5 93.1
#1 6 layers                | 6 768 3072 12 428 42  768| 82.9 90.2 87.4 89.2 87.4 88.6 94.3 90.9 91.2 91.1 91.9
#2 3 layers                | 3 768 3072 12 407 21  768| 82.2 89.4 86.1 88.0 86.5 87.5 93.7 90.1 90.8 90.1 91.2
#3 width 384               |12 384 1536 12 214 21  384| 82.6 90.1 86.9 89.6 87.0 88.4 94.4 91.2 91.4 91.3 92.1
#4 width 192               |12 192  768 12 102  6  192| 81.0 89.4 85.6 88.1 85.0 87.0 93.6 90.4 91.1 89.9 91.3
#5 thin-deep 384           |24 384 1536 12 235 42  384| 83.2 90.6 87.3 89.2 87.4 88.6 94.7 91.5 91.6 91.9 92.4
#6 thin-deep 256, large ams|24 256 1024  8 147 19  256| 82.9 90.1 87.1 89.3 87.4 88.5 94.6 91.2 91.5 91.4 92.2
#7 thin-deep 192, base ams |24 192  768 12 107 11  192| 81.7 89.8 85.9 88.6 85.4 87.4 94.2 91.0 91.3 91.1 91.9
#8 thin-deep 128, small ams|24 128  512  8  69  5  128| 80.3 88.1 85.2 88.0 83.9 86.3 93.0 89.7 90.6 88.3 90.4
#9 thin-deep 64            |24  64  256  8  33  1   64| 75.2 83.7 78.6 83.0 72.1 79.4 87.9 83.0 86.0 75.1 83.0
#10 MobileBERT-like 256    |24 256  256  4 138 10  256| 82.1 89.4 86.5 88.4 86.5 87.7 94.1 91.0 91.0 91.7 92.0
#11 MobileBERT-like 192    |24 192  192  4 102  6  192| 81.0 89.0 85.4 88.5 85.3 87.1 93.8 90.3 91.0 89.9 91.3
#12 MobileBERT-like 128    |24 128  128  4  66  2  128| 79.7 88.1 84.1 87.6 83.3 85.8 92.6 88.8 90.4 87.6 89.9
LaBSE reduced to 512       |12 768 3072 12   - 85  512| 83.7 90.1 88.1 89.7 87.4 88.8 95.4 92.1 92.0 92.4 93.0
LaBSE reduced to 384       |12 768 3072 12   - 85  384| 83.7 90.1 88.1 89.6 87.4 88.8 95.5 92.0 92.0 92.6 93.0
LaBSE reduced to 256       |12 768 3072 12   - 85  256| 83.6 90.3 87.9 89.2 87.4 88.7 95.3 92.0 92.1 92.2 92.9
LaBSE reduced to 192       |12 768 3072 12   - 85  192| 83.4 89.8 87.5 89.5 87.0 88.5 95.2 91.9 91.9 92.2 92.8
LaBSE reduced to 128       |12 768 3072 12   - 85  128| 83.1 89.2 86.9 88.6 85.9 87.7 95.1 91.4 91.8 91.6 92.5
LaBSE reduced to 64        |12 768 3072 12   - 85   64| 81.8 88.4 84.4 87.3 83.8 86.0 93.9 89.8 90.7 88.9 90.8
LaBSE reduced to 32        |12 768 3072 12   - 85   32| 78.4 82.7 74.8 80.4 73.7 77.9 87.1 81.5 84.1 75.5 82.1
LEALLA-small fd            |24 128  512  8  69  5  128| 78.2 89.0 84.6 87.5 79.6 85.2 94.2 90.5 91.2 88.9 91.2
LEALLA-small ld            |24 128  512  8  69  5  128| 75.1  1.5  1.1  0.9  5.6  2.3  0.1  0.0  0.1  0.0  0.1
LEALLA-small ams-fd        |24 128  512  8  69  5  128| 80.6 89.3 86.8 88.0 84.0 87.0 93.9 90.6 91.4 89.7 91.4
LEALLA-small ams-ld        |24 128  512  8  69  5  128| 80.6 89.6 85.8 88.6 84.4 87.1 94.1 90.3 91.2 90.0 91.4
LEALLA-small ams-df        |24 128  512  8  69  5  128| 80.0 89.4 86.3 88.1 83.9 86.9 93.8 90.1 91.1 88.9 91.0
LEALLA-small ams-syn       |24 128  512  8  69  5  128| 80.2 88.5 85.0 87.1 82.8 85.9 93.6 89.9 90.9 88.7 90.8
LEALLA-small all           |24 128  512  8  69  5  128| 80.7 89.4 86.0 88.7 84.9 87.3 94.0 90.6 91.2 90.3 91.5
LEALLA-base fd             |24 192  768 12 107 11  192| 81.1 90.2 87.3 89.4 85.5 88.1 95.0 91.6 91.8 91.3 92.4
LEALLA-base ld             |24 192  768 12 107 11  192| 80.6 66.3 49.4 51.0 85.7 63.1 57.5 80.1 60.6 88.6 71.7
LEALLA-base ams-fd         |24 192  768 12 107 11  192| 82.2 90.2 87.5 89.4 86.8 88.5 95.0 91.6 91.7 91.0 92.3
LEALLA-base ams-ld         |24 192  768 12 107 11  192| 82.3 90.0 87.5 89.2 86.8 88.4 94.8 91.3 91.6 91.4 92.3
LEALLA-base ams-df         |24 192  768 12 107 11  192| 81.8 90.0 87.3 89.2 86.3 88.2 94.7 91.4 91.7 90.9 92.2
LEALLA-base ams-syn        |24 192  768 12 107 11  192| 81.9 89.7 86.7 88.8 85.9 87.8 94.5 91.1 91.7 90.3 91.9
LEALLA-base all            |24 192  768 12 107 11  192| 82.4 90.3 87.4 89.8 87.2 88.7 94.9 91.4 91.8 91.4 92.4
LEALLA-large fd            |24 256 1024  8 147 19  256| 82.4 89.8 87.2 89.4 86.1 88.1 95.3 91.8 92.0 92.2 92.8
LEALLA-large ld            |24 256 1024  8 147 19  256| 82.3 87.2 78.8 83.3 86.9 84.1 88.4 87.4 86.9 91.8 88.6
LEALLA-large ams-fd        |24 256 1024  8 147 19  256| 83.4 90.6 88.4 89.8 87.7 89.1 95.3 92.0 92.0 92.0 92.8
LEALLA-large ams-ld        |24 256 1024  8 147 19  256| 83.4 90.6 87.9 90.0 87.7 89.1 95.3 91.8 91.7 92.4 92.8
LEALLA-large ams-df        |24 256 1024  8 147 19  256| 83.0 90.3 87.6 89.7 87.2 88.7 95.3 91.9 92.0 91.7 92.7
LEALLA-large ams-syn       |24 256 1024  8 147 19  256| 83.0 90.0 87.4 89.7 86.8 88.5 94.9 91.7 91.8 91.4 92.5
LEALLA-large all           |24 256 1024  8 147 19  256| 83.5 90.8 88.5 89.9 87.9 89.3 95.3 92.0 92.1 91.9 92.8
"""


def rows() -> dict[str, dict[str, float | None]]:
    """Name of an encoder -> its sizes and results, by SIZES and BENCHMARKS."""
    found = {}
    for line in NUMBERS.strip().splitlines():
        name, sizes, results = line.split("|")
        words = [*sizes.split(), *results.split()]
        numbers = [None if word == "-" else float(word) for word in words]
        found[name.strip()] = dict(zip((*SIZES, *BENCHMARKS), numbers, strict=True))
    return found


def thesis_table(measured: list[str]) -> Table | None:
    """What the thesis has for benchmarks that were measured here; None if it has nothing for them.

    Args:
        measured: titles of columns, in their order.
    """
    known = [title for title in measured if _benchmark(title) in BENCHMARKS]
    if not known:
        return None
    shown = [
        [
            *cells(name),
            number_cell(LANGUAGES.get(name), ".0f"),
            *(number_cell(numbers[size], ".0f") for size in SIZES),
            *(number_cell(numbers[_benchmark(title)], ".1f") for title in known),
        ]
        for name, numbers in rows().items()
    ]
    caption = "The thesis's encoders (Tables 3.1, 3.3, 3.4, A.1 to A.4): of all languages of each benchmark."
    return Table("encoder_sizes_thesis", caption, [cells("Encoder", "La.", *SIZES, *known)], shown)


def by_losses(student: str, title: str) -> dict[str, float | None]:
    """Losses -> what a LEALLA trained with them reaches on a column's benchmark; empty for other students,
    and for benchmarks that are not in the tables.

    Args:
        student: as the recipe calls it, small, base or large.
    """
    if _benchmark(title) not in BENCHMARKS:
        return {}
    found = {}
    for name, numbers in rows().items():
        words = name.replace("LEALLA-", "").split()
        if words[-2:-1] == [student]:
            found[words[-1]] = numbers[_benchmark(title)]
    return found


def _benchmark(title: str) -> str:
    """A column's benchmark, whatever part of it: "BUCC de-en, training" is "BUCC de-en"."""
    return title.partition(",")[0]
