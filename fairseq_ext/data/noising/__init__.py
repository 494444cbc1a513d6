"""The *what a training example is* axis for monolingual text: one sentence -> one pre-training example.

| task | function | needs | thesis |
|---|---|---|---|
| MASS | `masking.mass` | - | 4.2.2 |
| MultiMASS | `masking.multimass` | - | 4.4.4 |
| BMASS | `masking.bmass` | bunsetsu | 4.3.1 |
| PMASS.S, PMASS.P | `pmass.pmass_single`, `pmass.pmass_plural` | phrases | 4.3.2, B.1 |
| text infilling (BART) | `masking.infilling` | - | 4.4.4 |
| deshuffling | `reordering.deshuffling` | - | 4.4.4 |
| BRSS.F, BRSS.R | `reordering.brss_forward`, `reordering.brss_reverse` | bunsetsu | 4.3.1 |
| HFSS | `reordering.hfss` | phrases | 4.3.2 |

Every transform is a `Transform` (`example`): a function from a `Sentence` to an `Example`.
"""
