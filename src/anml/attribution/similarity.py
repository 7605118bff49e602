"""Similarity between queries and contributors' rows without any model: the baseline of attribution."""

from collections import Counter
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from anml.attribution.samples import IGNORED, RowBatches
from anml.core.checks import Floats, Ints
from anml.gradients.batches import Batch

N_GRAMS = (1, 2, 3)
CPU = torch.device("cpu")


def similarity(train: RowBatches, queries: RowBatches, codes: Ints, count: int, size: int) -> Floats:
    """Return the similarity of each query to each contributor, (queries, contributors).

    Of tokens it is the cosine of tf-idf vectors of one to three tokens, one document a contributor; of
    numbers the mean cosine of standardised inputs, of rows with the query's class where targets are classes.
    """
    first = train.batch([0], CPU)
    if tokens_of(first) is not None:
        return _of_tokens(train, queries, codes, count, size)
    return _of_numbers(train, queries, codes, count, size)


def tokens_of(batch: Batch) -> list[list[int]] | None:
    """Tokens of each sample of a batch, those that count in the loss; None if inputs are numbers."""
    given: Any = batch.inputs
    if isinstance(given, dict):
        given = next((each for name, each in given.items() if name.endswith("input_ids")), None)
    if not isinstance(given, Tensor) or given.dim() != 2 or given.is_floating_point():
        return None
    mask = batch.inputs.get("attention_mask") if isinstance(batch.inputs, dict) else None
    if batch.target.shape == given.shape:
        mask = (batch.target != IGNORED).long()
    kept = torch.ones_like(given) if mask is None or mask.shape != given.shape else mask
    return [row[use > 0].tolist() for row, use in zip(given, kept, strict=True)]


def _grams(tokens: list[int]) -> Counter[tuple[int, ...]]:
    return Counter(tuple(tokens[at : at + n]) for n in N_GRAMS for at in range(len(tokens) - n + 1))


def _of_tokens(train: RowBatches, queries: RowBatches, codes: Ints, count: int, size: int) -> Floats:
    documents: list[Counter[tuple[int, ...]]] = [Counter() for _ in range(count)]
    for start in range(0, len(train), size):
        rows = range(start, min(start + size, len(train)))
        for row, tokens in zip(rows, tokens_of(train.batch(rows, CPU)) or [], strict=True):
            documents[codes[row]].update(_grams(tokens))
    asked: list[Counter[tuple[int, ...]]] = []
    for batch in queries.batches(range(len(queries)), size, CPU):
        asked += [_grams(tokens) for tokens in tokens_of(batch) or []]
    trainings = Counter(gram for document in documents for gram in document)
    column = {gram: at for at, gram in enumerate(trainings)}
    rarity = np.log(1 + count / np.fromiter(trainings.values(), float, len(trainings)))

    def vectors(documents: list[Counter[tuple[int, ...]]]) -> Any:
        cells = [
            (at, column[g], n) for at, each in enumerate(documents) for g, n in each.items() if g in column
        ]
        row, place, times = (np.array(each) for each in zip(*cells, strict=True)) if cells else ([], [], [])
        weight = (1 + np.log(np.asarray(times, float))) * rarity[np.asarray(place, int)]
        made = sparse.csr_matrix((weight, (row, place)), shape=(len(documents), len(column)))
        length = np.sqrt(np.asarray(made.multiply(made).sum(1)).ravel())
        return sparse.diags(1 / np.maximum(length, 1e-12)) @ made

    return np.asarray((vectors(asked) @ vectors(documents).T).todense())


def _of_numbers(train: RowBatches, queries: RowBatches, codes: Ints, count: int, size: int) -> Floats:
    def flat(rows: RowBatches) -> tuple[Tensor, Tensor]:
        batches = list(rows.batches(range(len(rows)), size, CPU))
        return torch.cat([_numbers(each) for each in batches]), torch.cat([each.target for each in batches])

    x, y = flat(train)
    asked, wanted = flat(queries)
    centre, spread = x.mean(0), x.std(0, correction=0).clamp_min(1e-6)
    x, asked = (torch.nn.functional.normalize((each - centre) / spread, dim=1) for each in (x, asked))
    classes = y.dim() == 1 and not y.is_floating_point()
    group = torch.unique(y, return_inverse=True)[1] if classes else torch.zeros(len(x), dtype=torch.long)
    kinds = int(group.max()) + 1
    total = torch.zeros(count * kinds, x.shape[1]).index_add_(0, torch.as_tensor(codes) * kinds + group, x)
    result = (asked @ total.T).view(len(asked), count, kinds)
    if classes:
        same = torch.unique(y)[None, :] == wanted[:, None]
        result = result * same[:, None, :]
    rows = torch.bincount(torch.as_tensor(codes), minlength=count).clamp_min(1)
    return (result.sum(2) / rows).double().numpy()


def _numbers(batch: Batch) -> Tensor:
    given: Any = batch.inputs
    parts = (
        given.values() if isinstance(given, dict) else given if isinstance(given, list | tuple) else [given]
    )
    return torch.cat([each.float().flatten(1) for each in parts if isinstance(each, Tensor)], dim=1)
