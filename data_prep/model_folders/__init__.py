"""The gate for folders of models: of `transformers`, `sentence-transformers`, `peft`, and exported graphs.

A folder of a stranger is opened here and nowhere else. `folder` sees its files; `models`, `modules`,
`adapters`, `graphs` and `settings` check them against allow-lists (`allowed`). A library reads a private
folder: links to the checked files, and copies of the checked settings. So it finds no more than was checked.
"""
