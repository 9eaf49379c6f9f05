"""Package rbdyn_ros, as colcon and pip build it."""

from glob import glob

from setuptools import find_packages, setup

PACKAGE = "rbdyn_ros"

setup(
    name=PACKAGE,
    version="0.1.0",
    description="A spherical-pendulum testbed: variational rigid-body mechanics over ROS 2.",
    license="Apache-2.0",
    maintainer="rbdyn_ros maintainers",
    maintainer_email="rbdyn-ros@users.noreply.github.com",
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_data={
        f"{PACKAGE}.campaigns": ["*.yaml"],
        f"{PACKAGE}.evaluation": ["*.html"],
        f"{PACKAGE}.evaluation.measures": ["*.yaml"],
        f"{PACKAGE}.identification": ["*.html"],
        f"{PACKAGE}.parameters": ["*.yaml"],
    },
    python_requires=">=3.10",
    install_requires=[
        "jinja2",
        "matplotlib",
        "numba",
        "numpy",
        "psutil",
        "pyserial",
        "pyyaml",
        "rosbags",
        "scipy",
        "setuptools",
        "tqdm",
        "transforms3d",
    ],
    # What rosdep has no key for is asked for where it is used, by a sentence that names the extra.
    extras_require={
        "benchmarks": ["mujoco"],
        "cluster": ["dask", "distributed"],
        "control": ["control"],
        "gym": ["gymnasium"],
        "hil": ["cobs"],
        "mpc": ["osqp"],
        "sweep": ["pyarrow"],
        "test": [
            "casadi",
            "control",
            "do-mpc",
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
            "controller = rbdyn_ros.ros.start:controller",
            "hil_bridge = rbdyn_ros.ros.start:hil_bridge",
            "monitor = rbdyn_ros.ros.start:monitor",
            "rbdyn_ros = rbdyn_ros.console:command",
            "recorder = rbdyn_ros.ros.start:recorder",
            "referee = rbdyn_ros.ros.start:referee",
            "replay = rbdyn_ros.ros.start:replay",
            "simulator = rbdyn_ros.ros.start:simulator",
            "viewer = rbdyn_ros.ros.start:viewer",
        ],
    },
    zip_safe=True,
)
