"""What is trained: one file per task. Importing a file registers its task with fairseq."""
