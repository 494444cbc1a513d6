"""Building blocks without fairseq registration: attention, residual blocks, layers, vocabulary loss.

Shapes everywhere: `B` sentences, `T` target or query positions, `S` source or key positions, `C` model
width, `H` heads, `D = C / H`, `V` vocabulary; sequences travel as `T x B x C`, as in fairseq.
"""
