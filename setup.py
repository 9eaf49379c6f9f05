"""Package rbdyn_ros, as colcon and pip build it."""

from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = "rbdyn_ros"
SOURCES = Path(__file__).resolve().parent  # colcon calls this file by a link
PAGE = (SOURCES / "README.md").read_text(encoding="utf-8").splitlines(keepends=True)

setup(
    name=PACKAGE,
    version="1.0.0",  # catkin_prepare_release writes it with that of package.xml
    description="A spherical-pendulum testbed: variational rigid-body mechanics over ROS 2.",
    long_description="".join(line for line in PAGE if not line.startswith("![")),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    classifiers=[
        "Development Status :: 5 - Production/Stable",
        "Intended Audience :: Education",
        "Intended Audience :: Science/Research",
        "License :: OSI Approved :: Apache Software License",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering :: Physics",
    ],
    keywords=["ROS", "pendulum", "control", "rigid-body dynamics", "variational integrators"],
    author="rbdyn_ros maintainers",
    author_email="rbdyn-ros@users.noreply.github.com",
    maintainer="rbdyn_ros maintainers",
    maintainer_email="rbdyn-ros@users.noreply.github.com",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_data={
        f"{PACKAGE}.evaluation.campaigns": ["*.yaml"],
        f"{PACKAGE}.evaluation": ["*.html"],
        f"{PACKAGE}.evaluation.measures": ["*.yaml"],
        f"{PACKAGE}.identification": ["*.html"],
        f"{PACKAGE}.parameters": ["*.yaml"],
    },
    python_requires=">=3.10",
    install_requires=[
        "jinja2",
        "matplotlib",
        "numba>=0.56",
        "numpy>=1.23",
        "psutil>=5.9",
        "pyserial",
        "pyyaml>=6.0",
        "scipy>=1.10",
        "setuptools",
        "tqdm>=4.57",
        "transforms3d",
    ],
    # What rosdep has no key for is asked for where it is used, by a sentence that names the extra.
    extras_require={
        "bag": ["rosbags>=0.11"],
        "benchmarks": ["mujoco"],
        "cluster": ["dask", "distributed"],
        "control": ["control"],
        "docs": ["furo", "myst-parser", "sphinx"],
        "gym": ["gymnasium"],
        "hil": ["cobs"],
        "mpc": ["osqp"],
        "sweep": ["pyarrow"],
        "test": [
            "casadi",
            "control",
            "gymnasium",
            "hypothesis",
            "mujoco",
            "pin",
            "playwright",
            "pyrefly",
            "pytest",
            "pytest-rerunfailures",
            "pytest-timeout",
            "pytest-xdist",
            "ruff",
        ],
        "urdf": ["urdf-parser-py"],
        "view": ["viser"],
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
        # what `ros2 run` and launch files start; only the command comes onto PATH
        (f"lib/{PACKAGE}", sorted(glob("scripts/*"))),
        (f"share/{PACKAGE}/launch", sorted(glob("launch/*.launch.py"))),
        (f"share/{PACKAGE}/config", sorted(glob("config/*.*"))),
        (f"share/{PACKAGE}/config/campaigns", sorted(glob("config/campaigns/*.*"))),
        (f"share/{PACKAGE}/config/policies", sorted(glob("config/policies/*.*"))),
        (f"share/{PACKAGE}/config/models", sorted(glob("config/models/*.*"))),
        (f"share/{PACKAGE}/config/scenarios", sorted(glob("config/scenarios/*.*"))),
        (f"share/{PACKAGE}/config/security", sorted(glob("config/security/*.*"))),
        (f"share/{PACKAGE}/config/suites", sorted(glob("config/suites/*.*"))),
    ],
    entry_points={
        "console_scripts": [
            "rbdyn_ros = rbdyn_ros.console:command",
        ],
    },
    zip_safe=True,
)
