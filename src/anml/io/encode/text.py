"""Written text: TF-IDF of its distinct texts, sorted, so that the order of rows never matters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from anml.io.plain import as_text, codes_in

MAX_DIMENSIONS = 100
MAX_VOCABULARY = 20_000
TOKENS = r"(?u)\b\w+\b"


@dataclass(frozen=True, eq=False)
class TextColumn:
    """Fitted encoding of one text column."""

    column: str
    kind: str
    words: tuple[str, ...]
    idf: np.ndarray[Any, Any]
    directions: np.ndarray[Any, Any]
    scale: float

    @classmethod
    def fit(cls, series: pl.Series, kind: str, seed: int) -> "TextColumn":
        """Learn words, their rarity and the main directions; `seed` starts the decomposition."""
        texts = as_text(series).drop_nulls().unique().sort().to_list()
        words, idf = _words(texts)
        column = cls(series.name, kind, words, idf, np.zeros((0, 0), dtype=np.float32), 1.0)
        if not words:
            return column
        counts = column._tfidf(texts)
        directions = np.zeros((0, len(words)), dtype=np.float32)
        # Where there are few words anyway, they are the directions.
        if len(words) > MAX_DIMENSIONS:
            from sklearn.decomposition import TruncatedSVD

            reduction = TruncatedSVD(n_components=min(MAX_DIMENSIONS, len(texts)), random_state=seed)
            directions = np.ascontiguousarray(reduction.fit(counts).components_.astype(np.float32))
        reduced = counts @ directions.T if len(directions) else counts.toarray()
        # One scale for the whole block keeps the directions' own proportions.
        spread = float(np.sqrt(np.var(np.asarray(reduced, dtype=np.float64), axis=0).max()))
        return cls(series.name, kind, words, idf, directions, spread or 1.0)

    @property
    def names(self) -> list[str]:
        """One name per number made of the column."""
        if len(self.directions):
            return [f"{self.column} (direction {at + 1})" for at in range(len(self.directions))]
        return [f"{self.column}: {word}" for word in self.words]

    def fill(self, series: pl.Series, out: np.ndarray[Any, Any]) -> None:
        """Write the column's numbers into `out`, of shape (rows, names); no text is all zeros."""
        if not self.words:
            return
        texts = as_text(series).fill_null("")
        distinct = texts.unique().sort().to_list()
        counts = self._tfidf(distinct)
        reduced = counts @ self.directions.T if len(self.directions) else counts.toarray()
        out[:] = (np.asarray(reduced) / np.float32(self.scale))[codes_in(texts, distinct)]

    def _tfidf(self, texts: list[str]) -> Any:
        vectorizer = _vectorizer(vocabulary={word: at for at, word in enumerate(self.words)})
        vectorizer.idf_ = self.idf
        return vectorizer.transform(texts)


def _vectorizer(**options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(token_pattern=TOKENS, sublinear_tf=True, dtype=np.float32, **options)


def _words(texts: list[str]) -> tuple[tuple[str, ...], np.ndarray[Any, Any]]:
    """Return the vocabulary and its idf: words of two texts or more, or all where none is shared."""
    for min_texts in (2, 1):
        vectorizer = _vectorizer(min_df=min_texts, max_features=MAX_VOCABULARY)
        try:
            vectorizer.fit(texts)
        except ValueError:  # no word left
            continue
        return tuple(vectorizer.get_feature_names_out().tolist()), vectorizer.idf_.astype(np.float32)
    return (), np.zeros(0, dtype=np.float32)
