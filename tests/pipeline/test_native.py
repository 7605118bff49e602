"""Results in the kind of frame that the user gave."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from anml.api import to_native


def test_results_come_back_in_the_users_kind() -> None:
    frame = pl.DataFrame({"a": [1, 2]})
    assert isinstance(to_native(frame, pd.DataFrame({"x": [1]})), pd.DataFrame)
    assert isinstance(to_native(frame, pa.table({"x": [1]})), pa.Table)
    for like in (None, frame, frame.lazy(), "t.csv"):
        assert to_native(frame, like) is frame


def test_rows_of_pandas_keep_their_own_index() -> None:
    mine = pd.DataFrame({"x": [1, 2, 3]}, index=["c", "a", "b"])
    result = to_native(pl.DataFrame({"p": [0.5, 0.9]}), mine, np.array([2, 0]))
    assert result["p"].to_dict() == {"b": 0.5, "c": 0.9}
