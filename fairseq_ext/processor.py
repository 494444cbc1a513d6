"""What this machine's processor has in hardware."""

from pathlib import Path

INFORMATION = Path("/proc/cpuinfo")  # of Linux


def processor_flags() -> set[str]:
    """Words of its description, as `avx512_bf16` and the vendor's `GenuineIntel`; none where the system has
    no such file.
    """
    return set(INFORMATION.read_text().split()) if INFORMATION.exists() else set()
