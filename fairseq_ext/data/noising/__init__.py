"""The *what a training example is* axis for monolingual text: one sentence -> one pre-training example.

| task | function | needs | thesis |
|---|---|---|---|
| MASS | `mass.mass` | - | 4.2.2 |
| MultiMASS | `mass.multimass` | - | 4.4.4 |
| BMASS | `bmass.bmass` | bunsetsu | 4.3.1 |
| PMASS.S, PMASS.P | `pmass.pmass_single`, `pmass.pmass_plural` | phrases | 4.3.2, B.1 |
| text infilling (BART) | `infilling.infilling` | - | 4.4.4 |
| deshuffling | `reordering.deshuffling` | - | 4.4.4 |
| BRSS.F, BRSS.R | `reordering.brss` | bunsetsu | 4.3.1 |
| HFSS | `reordering.hfss` | phrases | 4.3.2 |

Every transform is a function of the token ids of a sentence (without tags and `</s>`), what an analysis knows
about it (`data_prep.parsing.structure_file.Structure`), a `numpy` random generator and the `Symbols`; it
returns an `Example` and changes none of its arguments.
"""
