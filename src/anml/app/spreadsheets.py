"""Text that people open in a spreadsheet."""

import polars as pl


def safe_for_spreadsheets(frame: pl.DataFrame) -> pl.DataFrame:
    """Put a quote before text that a spreadsheet would run as a formula.

    Examples
    --------
    >>> safe_for_spreadsheets(pl.DataFrame({"who": ["=1+1", "ann"]}))["who"].to_list()
    ["'=1+1", 'ann']
    """
    risky = pl.selectors.string().str.contains(r"^[=+\-@\t\r\x00]")
    text = pl.selectors.string()
    return frame.with_columns(pl.when(risky).then(pl.lit("'") + text).otherwise(text).name.keep())
