"""Figures as files: which ones a front gets, the same bytes each time, all of them or none."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from moanon.errors import ConfigError, OutputError
from moanon.front import Front
from moanon.measures.suppression import Suppression
from moanon.output.figure_files import write_eta_plots, write_figures, write_plots
from moanon.output.front_figures import plot_front
from tests.checkout import REPOSITORY
from tests.output.drawn import made_front
from tests.search.people import found_front


def stems(paths: list[Path]) -> list[str]:
    return [path.stem for path in paths]


# -- which figures -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preset", "names"),
    [
        ("zero-suppression", ["front", "magnified"]),
        ("k-suppression", ["front", "magnified", "groups"]),
        ("any-suppression", ["front", "groups", "pairs", "filtered"]),
        ("kl-safety", ["front", "groups", "pairs", "diversity", "limits"]),
    ],
)
def test_each_problem_has_its_figures(preset: str, names: list[str], tmp_path: Path) -> None:
    written = write_plots(found_front(preset), tmp_path, preset, formats=["png"])
    assert stems(written) == names
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{n}.png" for n in names)


def test_steep_fronts_are_magnified(tmp_path: Path) -> None:
    k = np.arange(1, 500)
    front = made_front(k=k, loss=np.log(k) / 7)
    assert stems(write_plots(front, tmp_path, formats=["svg"])) == ["front", "magnified"]


def test_several_limits_have_one_figure_for_each_privacy_measure(tmp_path: Path) -> None:
    fronts = {0.1: found_front("kl-safety", eta=0.1), 0.0: found_front("kl-safety", eta=0.0)}
    written = write_eta_plots(fronts, tmp_path / "new", "people", formats=["png"])
    assert stems(written) == ["etas", "etas-l"]


def test_a_comparison_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"takes at least one front\. Got none"):
        write_eta_plots({}, tmp_path)


RULE = Suppression("kl-safety", 0.1)
UGLY = {
    "one": made_front(k=[1], loss=[0.0]),
    "two": made_front(k=[2, 50], loss=[0.1, 0.4]),
    "same-loss": made_front(k=[1, 2, 3], loss=[0.3] * 3),
    "k-1-only": made_front(k=[1] * 3, loss=[0.1, 0.2, 0.3]),
    "huge": made_front(k=np.geomspace(1, 1e9, 2000), loss=np.linspace(0, 1, 2000) ** 2),
    "one-objective": made_front(("loss",), k=[4], loss=[0.2]),
    "both-maximized": made_front(("k", "l"), k=[1, 2, 30], l=[5, 4, 1]),
    "both-minimized": made_front(("gl", "sl"), gl=[0.1, 0.2, 0.3], sl=[0.3, 0.2, 0.1]),
    "any-suppression-one": made_front(("weighted_k", "gl", "sl"), Suppression("weighted-k"), k=[1]),
    "kl-safety-one": made_front(("d1", "d2", "loss"), RULE, k=[1]),
    "kl-safety-dear": made_front(("d1", "d2", "loss"), RULE, k=[3, 4, 9], loss=[0.8, 0.9, 0.99]),
    "six-objectives": made_front(("k", "l", "weighted_k", "gl", "sl", "loss"), k=range(1, 9)),
    "not-finite": made_front(("weighted_k", "loss"), weighted_k=[1.0, np.inf, 9.0, 20.0]),
}


# A warning is an error in these tests: letters without a shape, axes without a width.
@pytest.mark.parametrize("name", UGLY)
def test_any_front_can_be_drawn(name: str, tmp_path: Path) -> None:
    nasty = '<script>"$x_1^2$ \\frac{1}{0}</script> 数据\n\x1b[31m' + "long " * 30
    written = write_plots(UGLY[name], tmp_path, nasty, formats=["png"])
    assert written[0].name == "front.png"
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


# -- bytes ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole_front() -> Front:
    return found_front("zero-suppression")


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_front_gives_the_same_bytes(whole_front: Front, tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_plots(whole_front, tmp_path / name, "people")
    assert files_in(tmp_path / "one") == files_in(tmp_path / "other")


def test_files_do_not_tell_when_or_by_what_they_were_written(
    whole_front: Front, tmp_path: Path
) -> None:
    for path in write_plots(whole_front, tmp_path, "people"):
        content = path.read_bytes()
        assert matplotlib.__version__.encode() not in content
        assert b"<dc:date>" not in content
        assert b"Software" not in content


def test_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    fronts = {"a": UGLY["two"], "b": UGLY["same-loss"], "c": UGLY["both-maximized"]}
    for name, front in fronts.items():
        write_plots(front, tmp_path / "alone" / name, name)
    with ThreadPoolExecutor(3) as pool:
        for name, front in fronts.items():
            pool.submit(write_plots, front, tmp_path / "together" / name, name)
    for name in fronts:
        assert files_in(tmp_path / "together" / name) == files_in(tmp_path / "alone" / name)


def test_global_settings_are_as_before(tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    write_plots(UGLY["two"], tmp_path, formats=["svg"])
    assert dict(matplotlib.rcParams) == before


def test_pyplot_is_never_loaded(tmp_path: Path) -> None:
    script = (
        "import sys; from moanon.output.figure_files import write_plots\n"
        "from tests.output.drawn import made_front\n"
        f"write_plots(made_front(k=[2, 50], loss=[0.1, 0.4]), {str(tmp_path)!r})\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, check=False)
    assert done.returncode == 0


# -- all or none ---------------------------------------------------------------------------------


def test_older_figures_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "front.png").write_text("old")
    (tmp_path / "mine.png").write_text("mine")
    write_plots(UGLY["two"], tmp_path, formats=["png"])
    assert (tmp_path / "front.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "mine.png").read_text() == "mine"


def test_when_one_figure_fails_none_is_written(tmp_path: Path) -> None:
    (tmp_path / "good.png").write_text("old")

    def fail() -> object:
        raise RuntimeError("no")

    figures = {"good": lambda: plot_front(UGLY["two"]), "bad": fail}
    with pytest.raises(RuntimeError):
        write_figures(figures, tmp_path, ["png"])  # type: ignore[arg-type]
    assert files_in(tmp_path) == {"good.png": b"old"}


def test_a_format_is_given_once(tmp_path: Path) -> None:
    assert len(write_plots(UGLY["two"], tmp_path, formats=["png", "png"])) == 1


@pytest.mark.parametrize(("formats", "got"), [(["pdf"], "'pdf'"), ([], "''")])
def test_an_unknown_format_is_refused(formats: list[str], got: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"a format must be one of png, svg\\. Got {got}"):
        write_plots(UGLY["two"], tmp_path / "new", formats=formats)
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file/plots cannot be made: Not a directory"):
        write_plots(UGLY["two"], tmp_path / "file" / "plots")
