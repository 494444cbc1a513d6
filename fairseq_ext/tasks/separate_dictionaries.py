"""Models of fairseq's `translation` whose source and target have a dictionary each: for inference alone."""

from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtTask


class SeparateDictionariesTask(MultilingualNmtTask):
    """What a model of one direction needs. `dictionary` is the target's.

    Both dictionaries of fairseq have the same special symbols, with the same ids.
    """

    def __init__(self, cfg, source_dictionary, target_dictionary):
        super().__init__(cfg, target_dictionary)
        self._source_dictionary = source_dictionary

    @property
    def source_dictionary(self):
        return self._source_dictionary
