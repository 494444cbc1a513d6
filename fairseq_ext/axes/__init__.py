"""The axes of a system: what a checkpoint says of each, how tables call it, and what makes it another system.

Every system is a point in a product of a few axes. Its record, the "system" of result files, holds the fields
of all of them besides its name and its seed; an axis owns its fields. Whoever describes, names, sorts or
compares systems asks here, so that whatever is registered on an axis (a placement, a loss, an architecture)
has a record and a name of its own everywhere.

Options that are as usual are in no record and no name. What a record lacks is not known.
"""
