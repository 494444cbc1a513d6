"""The files of a folder DATA, and of the folders of text before it: each is read and written in one place."""
