"""The loader of every YAML file that a user writes: PyYAML's safe one with the numbers of ROS.

A number is what all readers take for the same one: 1e-3 as in YAML 1.2 and in rcl, which reads
the parameter files of the nodes, but neither 1_000 nor 1:30, which are 1000 and 90 for YAML 1.1
alone, and so for PyYAML: here they are words. A whole number that begins with 0 is refused, as 010
is 8 for rcl and 10 in YAML 1.2.
"""

import re

import yaml
from yaml.composer import ComposerError

_INT = re.compile(r"[-+]?(0|[1-9][0-9]*|0x[0-9a-fA-F]+)$")
_FLOAT = re.compile(
    r"([-+]?(\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"
)
_OCTAL = re.compile(r"[-+]?0[0-9]+$")
_TAG = "tag:yaml.org,2002:"


class NotANumber(yaml.MarkedYAMLError):
    """A number that readers read differently, or a word with the tag of a number."""


class Loader(yaml.SafeLoader):
    """A safe loader with the numbers of ROS and, as in ROS, without dates."""

    def construct_number(self, node: yaml.ScalarNode) -> float:
        """Return the number of a node, which may have its tag by hand. Raise NotANumber for text
        that is none.
        """
        is_int, text = node.tag.endswith(":int"), str(node.value)
        if not (_INT.match(text) or (_FLOAT.match(text) and not is_int)):
            problem = f"{text} is not a number; write it without a leading 0, such as 10"
            raise NotANumber(problem=problem, problem_mark=node.start_mark)
        return self.construct_yaml_int(node) if is_int else self.construct_yaml_float(node)


Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if not tag.endswith((":int", ":float", ":timestamp"))
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _kind, _pattern in (("float", _FLOAT), ("int", _INT), ("int", _OCTAL)):
    Loader.add_implicit_resolver(_TAG + _kind, _pattern, list("-+.0123456789"))
    Loader.add_constructor(_TAG + _kind, Loader.construct_number)


class ParameterLoader(Loader):
    """A loader without the aliases of YAML, which ROS does not read."""

    keeps_empty, what = False, "parameter file"  # whether an empty mapping is a value; for errors

    def compose_node(self, parent, index):
        """Return the next node. Raise ComposerError for an alias."""
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            why = f"a {self.what} has no aliases: write the value again"
            raise ComposerError(None, None, why, mark)
        return super().compose_node(parent, index)


# launch writes a list as a Python tuple; ROS's own reader takes it as a list
ParameterLoader.add_constructor(f"{_TAG}python/tuple", yaml.SafeLoader.construct_yaml_seq)
