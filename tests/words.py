"""Whether an error is one in words: raised on purpose, by this package or by a validation it uses.

An error that NumPy's or Python's own code raises in a line of this package is none, whatever it
says: nobody thought of it.
"""

import dis
from pathlib import Path
from types import TracebackType

import sklearn

import banklearn

#: Files and folders whose `raise` statements are meant for users.
SPEAKERS = (
    Path(banklearn.__file__).resolve().parent,
    *(
        Path(sklearn.__file__).resolve().parent / "utils" / name
        for name in (
            "validation.py",
            "multiclass.py",
            "class_weight.py",
            "_array_api.py",
            "_param_validation.py",
        )
    ),
)


def is_in_words(error: BaseException, speakers: tuple[Path, ...] = SPEAKERS) -> bool:
    """Whether the error began at a raise statement of one of the speakers, and says something."""
    last = _last(error.__traceback__)
    if last is None:
        return False
    file = Path(last.tb_frame.f_code.co_filename).resolve()
    ours = any(file == speaker or speaker in file.parents for speaker in speakers)
    return ours and _at_raise(last) and len(str(error).split()) >= 5


def _last(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def _at_raise(traceback: TracebackType) -> bool:
    """Whether the instruction that failed is a raise statement, not a part of one or a call."""
    code = traceback.tb_frame.f_code.co_code
    return dis.opname[code[traceback.tb_lasti]] == "RAISE_VARARGS"
