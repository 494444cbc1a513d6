"""The commands of `python -m fairseq_ext`."""
