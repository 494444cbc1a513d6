"""Our own questions about the papers, on the rows that recipes leave: no part of the installed package."""
