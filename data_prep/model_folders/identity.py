"""What a result depends on: the files of a folder of a model, of whatever kind, that a library reads."""

import functools
from pathlib import Path

from command_line.outputs import checksum
from data_prep.model_folders import adapters, graphs, models, modules
from data_prep.model_folders.folder import ModelFolder


def check_folder(path: Path, option: str = "--model") -> ModelFolder:
    """What is allowed of a folder, by what it looks like."""
    if (path / graphs.MODEL).exists():
        return graphs.check_graph(path, option)
    if (path / modules.MODULES_LIST).exists():
        return modules.check_modules(path, option)
    if (path / models.ADAPTER).exists() and not (path / models.CONFIGURATION).exists():
        return adapters.check_adapter(path, option)
    return models.check_model(path, option)


@functools.cache
def files_of(path: Path) -> dict[str, str]:
    """Checksums of the files that are read, by their names. Computed once in a process."""
    folder = check_folder(path)
    return {name: checksum(file) for name, file in sorted(folder.files.items())}
