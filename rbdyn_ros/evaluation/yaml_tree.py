"""A YAML file as nested dictionaries; what is wrong with it is said with file and line."""

from pathlib import Path
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """Safe, and a key that is given twice is an error."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"{key.value} is given twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read(path: Path) -> dict[str, Any]:
    """The file's content. ValueError: it cannot be read, is broken, or is no mapping."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is not a text file in UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else path
        raise ValueError(
            f"{where}: broken YAML: "
            f"{getattr(error, 'problem', None) or ' '.join(str(error).split())}"
        ) from None
    except (
        ValueError,
        RecursionError,
    ) as error:  # such as a date that does not exist, or nesting without end
        raise ValueError(f"{path}: broken YAML: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path}: is not a mapping; it must have `title:` and `rows:`")
    return content


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested names as dotted ones: {"a": {"b": 1}} is {"a.b": 1}."""
    names = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            names |= flat(value, f"{prefix}{key}.")
        else:
            names[f"{prefix}{key}"] = value
    return names
