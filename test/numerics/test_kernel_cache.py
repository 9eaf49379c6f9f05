"""The cache of kernels: its stamp follows from all code that a kernel reaches."""

import dis
import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from rbdyn_ros.kernel import _globals_read, _hash_compiler, fingerprint, kernel
from rbdyn_ros.numerics.kernel_cache import _turns

ROOT = Path(__file__).parents[2]


def define(source: str, **scope):
    """The function `f` of a source text, its globals being `scope`."""
    exec(source, scope)
    return scope["f"]


def stand_in(function) -> SimpleNamespace:
    """What a fingerprint sees of a kernel."""
    return SimpleNamespace(fingerprint=fingerprint(function))


CALLER = "def f(x):\n    return g(x) + c\n"


def test_fingerprint_is_that_of_the_code_and_not_of_its_place():
    assert fingerprint(define("def f(x): return x + 1.0")) == fingerprint(
        define("\n\ndef f(x): return x + 1.0")
    )


@pytest.mark.parametrize(
    "value", [1, 1.0, "a", np.int64(1), np.float64(1.0), np.arange(2)], ids=repr
)
def test_fingerprint_follows_a_constant_of_every_kind(value):
    """A NumPy scalar was not hashed: a kernel with np.int64 columns kept its old machine code when
    a column moved.
    """
    other = value + value
    assert fingerprint(define(CALLER, g=None, c=value)) != fingerprint(
        define(CALLER, g=None, c=other)
    )


def test_fingerprint_follows_the_code_its_constants_and_its_callees():
    callee, edited = (stand_in(define(f"def f(x): return {n} * x")) for n in ("2.0", "3.0"))
    sine, cosine = (define(f"import math\ndef f(x): return math.{n}(x)") for n in ("sin", "cos"))
    stamps = {
        "caller": fingerprint(define(CALLER, g=callee, c=1.0)),
        "another constant": fingerprint(define(CALLER, g=callee, c=2.0)),
        "an edited callee": fingerprint(define(CALLER, g=edited, c=1.0)),
        "a callee's callee": fingerprint(
            define(CALLER, g=stand_in(define(CALLER, g=edited, c=0.0)), c=1.0)
        ),
        "another operation": fingerprint(
            define("def f(x):\n    return g(x) - c\n", g=callee, c=1.0)
        ),
        "other options": fingerprint(define(CALLER, g=callee, c=1.0), {"parallel": True}),
        "sine": fingerprint(sine),
        "cosine": fingerprint(cosine),
    }
    assert len(set(stamps.values())) == len(stamps)
    assert fingerprint(define(CALLER, g=callee, c=1.0)) == stamps["caller"]


def test_comments_of_the_compiler_recompile_nothing(monkeypatch):
    """The fingerprint holds the code of the compiler's own files, without comments."""
    plain, source = _hash_compiler(), inspect.getsource
    for edit, is_same in (
        (("import dis", "import dis  # comment"), True),
        (('"""The cache', '"""Another'), True),
        (("cache=True", "cache=False"), False),
    ):
        monkeypatch.setattr(inspect, "getsource", lambda module: source(module).replace(*edit))
        assert (_hash_compiler.__wrapped__() == plain) == is_same


STAMPS = """from rbdyn_ros.kernel import _of_kernel
from rbdyn_ros.bodies import model_step
print(_of_kernel(model_step.advance))
"""


def test_the_globals_that_a_function_reads_are_those_that_the_disassembler_finds():
    """Among more than 256 names, whose numbers need two bytes, too."""
    many = compile(
        f"def many(x):\n    return {' + '.join(f'a{i}.b{i}(c{i})' for i in range(200))}",
        "",
        "exec",
    )
    codes = [c for c in many.co_consts if hasattr(c, "co_code")]
    codes += [f.__code__ for f in vars(dis).values() if hasattr(f, "__code__")]
    for code in codes:
        found = dis.get_instructions(code)
        assert _globals_read(code) == {i.argval for i in found if i.opname == "LOAD_GLOBAL"}


def test_fingerprint_is_the_same_in_every_process():
    """A set of options has another order in every process: each second one compiled the solvers
    again, for minutes.
    """
    stamps = set()
    for seed in "34":
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", STAMPS]
        stamps.add(
            subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            ).stdout
        )
    assert len(stamps) == 1 and stamps.pop().strip()


PACKAGE = {
    "low.py": (
        "from rbdyn_ros.kernel import kernel\n@kernel\ndef low(x):\n    return {factor} * x\n"
    ),
    "high.py": (
        "from rbdyn_ros.kernel import kernel\nfrom low import low\n"
        "@kernel\ndef high(x):\n    return low(x) + 1.0\n"
    ),
    "main.py": "from high import high\nprint(high(10.0), sum(high.stats.cache_hits.values()))\n",
}


def answer(folder: Path, factor: str) -> list:
    """[high(10), cache hits] in a process of its own, after an edit of low.py."""
    for name, text in PACKAGE.items():
        if not (folder / name).exists() or name == "low.py":
            (folder / name).write_text(text.format(factor=factor) if name == "low.py" else text)
    return printed(folder)


def environment(folder: Path) -> dict:
    """Of a process that finds modules and the cache of its kernels in the folder."""
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    variables.pop("NUMBA_DISABLE_JIT", None)
    return variables


def printed(folder: Path) -> list:
    """The words that main.py in the folder prints, in a process of its own with a cache of its
    own.
    """
    result = subprocess.run(
        [sys.executable, "main.py"],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.split()


def test_edited_callee_recompiles_the_caller_in_another_file(tmp_path):
    """Numba's own cache answers 21 to the third question: it looks at the caller's file alone."""
    assert answer(tmp_path, "2.0") == ["21.0", "0"]
    assert answer(tmp_path, "2.0") == ["21.0", "1"]
    assert answer(tmp_path, "3.5") == ["36.0", "0"]
    assert answer(tmp_path, "3.5") == ["36.0", "1"]


PARTED = """from rbdyn_ros.kernel import hot, inlined, part
@inlined
def twice(x):
    return 2.0 * x
@part
def next_one(x):
    return twice(x) + 1.0
@hot
def high(x):
    return next_one(x)
print(high(10.0), *("dispatcher" in vars(p) for p in (twice, next_one)), next_one(2.0))
"""


def test_a_kernel_that_is_read_from_the_cache_makes_no_dispatcher_of_its_parts(tmp_path):
    """To make that of each part took a sixth of a start."""
    (tmp_path / "main.py").write_text(PARTED)
    assert printed(tmp_path) == ["21.0", "True", "True", "5.0"]
    assert printed(tmp_path) == ["21.0", "False", "False", "5.0"]


UPSIDE_DOWN = """from rbdyn_ros.kernel import kernel
@kernel
def high(x):
    return low(x) + 1.0
@kernel
def low(x):
    return {factor} * x
"""


def test_edited_callee_recompiles_a_caller_that_stands_above_it(tmp_path):
    (tmp_path / "main.py").write_text(
        "from both import high\nprint(high(10.0), sum(high.stats.cache_hits.values()))\n"
    )
    for factor, expected in (
        ("2.0", ["21.0", "0"]),
        ("2.0", ["21.0", "1"]),
        ("3.5", ["36.0", "0"]),
    ):
        (tmp_path / "both.py").write_text(UPSIDE_DOWN.format(factor=factor))
        assert printed(tmp_path) == expected


SPECIAL = """from rbdyn_ros.kernel import kernel, specialize
@kernel
def once(x):
    return {factor} * x
@kernel
def twice(x):
    return 2.0 * once(x)
def template(x):
    return callee(x) + 1.0
f, g = (specialize(template, k.__name__, callee=k) for k in (once, twice))
print(f(10.0), g(10.0), sum(f.stats.cache_hits.values()), sum(g.stats.cache_hits.values()))
"""


def test_each_special_kernel_has_machine_code_of_its_own_and_keeps_it(tmp_path):
    for factor, expected in (
        ("2.0", ["21.0", "41.0", "0", "0"]),
        ("2.0", ["21.0", "41.0", "1", "1"]),
        ("3.5", ["36.0", "71.0", "0", "0"]),
    ):
        (tmp_path / "special.py").write_text(SPECIAL.format(factor=factor))
        (tmp_path / "main.py").write_text("import special\n")
        assert printed(tmp_path) == expected


NOUN = """from typing import NamedTuple
from rbdyn_ros.kernel import kernel
class {noun}(NamedTuple):
    x: float
@kernel
def f(noun): return 2.0 * noun.x
print(f({noun}(3.0)), sum(f.stats.cache_hits.values()))
"""


def test_cache_that_names_a_type_of_the_past_compiles_anew(tmp_path):
    """Numba's own cache ends in `AttributeError: Can't get attribute 'Before'` after an update of
    the package.
    """
    for noun, hits in (("Before", "0"), ("Before", "1"), ("After", "0"), ("After", "1")):
        (tmp_path / "words.py").write_text(NOUN.format(noun=noun))
        (tmp_path / "main.py").write_text("import words\n")
        assert printed(tmp_path) == ["6.0", hits]


SCRIPT = """import importlib.util, sys
spec = importlib.util.spec_from_file_location("{name}", "scripts/script.py")
module = sys.modules["{name}"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.f(3.0), sum(module.f.stats.cache_hits.values()))
"""


def test_cache_that_names_a_module_of_the_past_compiles_anew(tmp_path):
    """Numba's own cache ends in `No module named 'before'` where a script was loaded under another
    name.
    """
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "script.py").write_text(
        "from rbdyn_ros.kernel import kernel\n@kernel\ndef f(x):\n    return 2.0 * x\n"
    )
    for name, hits in (("before", "0"), ("before", "1"), ("after", "0"), ("after", "1")):
        (tmp_path / "main.py").write_text(SCRIPT.format(name=name))
        assert printed(tmp_path) == ["6.0", hits]


ORDERED = """from typing import NamedTuple
from rbdyn_ros.kernel import kernel
class Noun(NamedTuple):
    {first}: float
    {second}: float
@kernel
def f(noun): return noun.x
print(f(Noun({first}=1.0, {second}=2.0)))
"""


def test_fields_in_another_order_compile_anew(tmp_path):
    """Numba's own cache, were it asked, would read the field at its old place."""
    (tmp_path / "main.py").write_text("import words\n")
    for first, second, x in (("x", "y", "1.0"), ("y", "x", "2.0")):
        (tmp_path / "words.py").write_text(ORDERED.format(first=first, second=second))
        assert printed(tmp_path) == [x]


@pytest.fixture
def cache_files(tmp_path, monkeypatch):
    """What two processes have of the cache of one kernel."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "alone.py").write_text(
        "from rbdyn_ros.kernel import kernel\n@kernel\ndef f(x):\n    return 2.0 * x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import alone

    yield tuple(kernel(alone.f.py_func)._cache._cache_file for _ in range(2))
    sys.modules.pop("alone")


def test_two_processes_that_compile_at_once_never_read_the_code_of_the_other(
    cache_files, monkeypatch
):
    """Numba's own names are 1 for both: the second argument type would run the machine code of the
    first.
    """
    ours, theirs = cache_files
    late = []
    with monkeypatch.context() as paused:
        paused.setattr(ours, "_save_data", lambda *data: late.append(data))
        paused.setattr(theirs, "_load_index", dict)  # read before we wrote
        ours.save("float64", b"ours")
        theirs.save("int64", b"theirs")
    ours._save_data(*late.pop())
    assert ours.load("int64") == b"theirs"
    assert ours.load("float64") in (None, b"ours")


UNKNOWN = """
import json, sys
from rbdyn_ros.numerics import kernel_cache
kernel_cache._CACHE += ("_of_another_numba",)
from main import high
print(high(10.0), sum(high.stats.cache_hits.values()))
"""


def test_with_a_cache_that_is_not_known_numba_keeps_the_code_by_itself(tmp_path):
    """And it is said, once."""
    for name, text in PACKAGE.items():
        (tmp_path / name).write_text(text.format(factor=2.0))
    (tmp_path / "unknown.py").write_text(UNKNOWN)
    command = [sys.executable, "unknown.py"]
    for hits in ("0", "1"):
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True
        )
        assert done.stdout.split()[-2:] == ["21.0", hits]
        assert done.stderr.count("another cache than this package knows") == 1


SLOW = """
import sys, time
from pathlib import Path
from rbdyn_ros.kernel import kernel
@kernel
def slow(x):
    return {terms}
if __name__ == "__main__":
    Path(sys.argv[1]).touch()
    while not all(Path(name).exists() for name in "ab"):
        time.sleep(0.001)
    slow(1.0)
    print(slow.stats.cache_hits.total())
"""


def test_a_kernel_is_compiled_by_one_process_and_read_by_the_other(tmp_path):
    """Both begin at once."""
    terms = " + ".join(f"x ** {k}.5 * (x if x > {k} else -x)" for k in range(60))
    (tmp_path / "slow.py").write_text(SLOW.format(terms=terms))
    command = [sys.executable, "slow.py"]
    options = dict(cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE)
    both = [subprocess.Popen([*command, name], **options) for name in "ab"]
    assert sorted(int(one.communicate()[0]) for one in both) == [0, 1]


@pytest.mark.parametrize("why", ("no folder", "no end"))
def test_a_kernel_that_cannot_wait_is_compiled(cache_files, monkeypatch, why):
    """Where no file can be locked, or the other process takes too long."""
    if why == "no folder":
        monkeypatch.setattr(
            "rbdyn_ros.numerics.kernel_cache._lock_file", Mock(side_effect=PermissionError)
        )
    else:
        monkeypatch.setattr("rbdyn_ros.numerics.kernel_cache.LONGEST_WAIT", 0.0)
    assert sys.modules["alone"].f(2.0) == 4.0 and not _turns


def test_code_of_the_past_is_removed(cache_files, monkeypatch):
    file, _ = cache_files
    folder = Path(file._cache_path)
    file.save("float64", b"first")
    before = set(folder.glob("*.nbc"))
    file.save("int64", b"second")
    assert len(set(folder.glob("*.nbc"))) == 2
    monkeypatch.setattr(type(file), "_source_stamp", "edited")
    file.save("float64", b"third")
    assert set(folder.glob("*.nbc")).isdisjoint(before) and len(set(folder.glob("*.nbc"))) == 1
