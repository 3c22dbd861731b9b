"""The fourteen data sets of the paper: their names, shapes, targets and where they come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Task = Literal["regression", "classification"]


@dataclass(frozen=True)
class OpenML:
    """A data set on openml.org.

    ``positive`` is the label that becomes 1, ``negative`` the one label that becomes 0 while all
    others become 1; with neither the target is a number.  ``also`` keeps the labels as a second
    target of that name.
    """

    data_id: int
    positive: str | None = None
    negative: str | None = None
    also: str | None = None


@dataclass(frozen=True)
class UCI:
    """A text file of numbers inside an archive of the UCI repository.

    ``path`` names the file in the zip, or the file in an archive in the zip ("a.tar.gz!b.data").
    ``target`` and ``drop`` are column numbers (negative from the end).
    """

    number: int
    archive: str
    path: str
    target: int = -1
    drop: tuple[int, ...] = ()
    header: bool = False
    max_rows: int | None = None
    sha256: str | None = None

    @property
    def url(self) -> str:
        """Where the archive is."""
        return f"https://archive.ics.uci.edu/static/public/{self.number}/{self.archive}"


@dataclass(frozen=True)
class Spec:
    """What is known of a data set.

    ``others`` are columns of its Parquet file that are further targets, never features.
    """

    name: str
    task: Task
    n_rows: int
    n_features: int
    target: str
    source: OpenML | UCI
    others: tuple[str, ...] = field(default=())


SPECS = {
    spec.name: spec
    for spec in (
        Spec("concrete", "regression", 1030, 8, "compressive strength", OpenML(44959)),
        Spec("noise", "regression", 1503, 5, "sound pressure level", OpenML(44957)),
        Spec("prop", "regression", 11934, 16, "compressor decay", OpenML(44969), ("y2",)),
        Spec("bike", "regression", 17379, 12, "hourly count", OpenML(42712)),
        Spec(
            "toms",
            "regression",
            28179,
            96,
            "mean number of displays",
            UCI(
                248,
                "buzz+in+social+media.zip",
                "regression.tar.gz!regression/TomsHardware/TomsHardware.data",
            ),
        ),
        Spec(
            "cte",
            "regression",
            53500,
            384,  # the paper counts 386: the patient's number and the target among them
            "axial location of a CT slice",
            UCI(
                206,
                "relative+location+of+ct+slices+on+axial+axis.zip",
                "slice_localization_data.csv",
                drop=(0,),
                header=True,
            ),
        ),
        Spec(
            "music",
            "regression",
            515345,
            90,
            "year of release",
            UCI(203, "yearpredictionmsd.zip", "YearPredictionMSD.txt", target=0),
        ),
        Spec("twitter", "regression", 583250, 77, "mean number of displays", OpenML(4549)),
        Spec("pima", "classification", 768, 8, "diabetes", OpenML(37, "tested_positive")),
        Spec(
            "diabetic",
            "classification",
            1151,
            19,
            "signs of retinopathy",
            UCI(
                329,
                "diabetic+retinopathy+debrecen.zip",
                "messidor_features.arff",
                sha256="64ee2dbaffc69dab77cc0fb7458fa93cb21a20f15938cafacdc195a5e2226b2c",
            ),
        ),
        Spec("eeg", "classification", 14980, 14, "eyes closed", OpenML(1471, "2")),
        Spec(
            "space",
            "classification",
            58000,
            9,
            "shuttle state other than 1",
            OpenML(40685, negative="1", also="y7"),
            ("y7",),
        ),
        Spec(
            "susy",
            "classification",
            100000,
            18,
            "signal",
            UCI(279, "susy.zip", "SUSY.csv.gz", target=0, max_rows=100_000),
        ),
        Spec("skin", "classification", 245057, 3, "skin", OpenML(1502, "1")),
    )
}

NAMES = tuple(SPECS)


def find_spec(name: str) -> Spec:
    """The specification of a name, or a sentence with the names that exist.

    space7 is space with another target: one file, one specification.
    """
    name = "space" if name == "space7" else name
    if name not in SPECS:
        raise ValueError(
            f"There is no data set {name!r}. The names are {', '.join(NAMES)}, and space7 for "
            "the seven classes of space."
        )
    return SPECS[name]
