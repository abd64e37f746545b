"""Prints what a wheel of vLLM for the CPU requires, one a line: its torch without the local build that no index has."""

import email
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    name = next(entry for entry in wheel.namelist() if entry.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(wheel.read(name))
for requirement in metadata.get_all("Requires-Dist", []):
    if "extra ==" in requirement or requirement.startswith(("torchaudio", "torchvision", "triton")):
        continue
    print(requirement.replace("+cpu", ""))
