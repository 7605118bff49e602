"""Views for people: what Datasette or any SQL prompt shows. The program itself never reads them."""

from collections.abc import Callable


def _dialect(name: str) -> tuple[Callable[..., str], Callable[[str], str], tuple[str, str]]:
    """How one engine reads a value of an entry, writes micro-units as money, and splits an account."""
    lite = name == "sqlite"

    def value(*path: str) -> str:
        if lite:
            return f"json_extract(CAST(entry AS TEXT), '$.{'.'.join(path)}')"
        return f"(convert_from(entry, 'UTF8')::jsonb #>> '{{{','.join(path)}}}')"

    def money(micro: str) -> str:
        m = f"CAST({micro} AS BIGINT)"
        sign, rest = f"CASE WHEN {m} < 0 THEN '-' ELSE '' END", f"'000000' || (abs({m}) % 1000000)"
        last_six = f"substr({rest}, -6)" if lite else f"right({rest}, 6)"
        return f"{sign} || (abs({m}) / 1000000) || '.' || {last_six}"

    colon = "instr(account, ':')" if lite else "position(':' in account)"
    return value, money, (f"substr(account, 1, {colon} - 1)", f"substr(account, {colon} + 1)")


def views(dialect: str) -> list[str]:
    """Money as people write it, and one view for each thing people look for."""
    value, money, (kind, holder) = _dialect(dialect)
    body = value("body") if dialect == "sqlite" else "(convert_from(entry, 'UTF8')::jsonb -> 'body')"

    def said(*names: str) -> str:
        return ", ".join(f"{value('body', name)} AS {name}" for name in names)

    return [
        f"CREATE VIEW events_readable AS SELECT seq, at, kind, subject, {value('by')} AS signed_by, "
        f"{body} AS body FROM event",
        f"CREATE VIEW balances AS SELECT account, {kind} AS kind, {holder} AS holder, currency, "
        f"{money('SUM(amount)')} AS amount, SUM(amount) AS micro_units "
        "FROM posting GROUP BY account, currency",
        "CREATE VIEW postings_readable AS SELECT posting.seq AS entry, event.at, event.kind AS step, "
        f"{kind} AS kind, {holder} AS holder, currency, {money('amount')} AS amount, settlement "
        "FROM posting JOIN event ON event.seq = posting.seq",
        f"CREATE VIEW evidence_readable AS SELECT seq AS entry, subject AS contributor, "
        f"{said('kind', 'issuer', 'at', 'until', 'vouched', 'scope')}, "
        f"{value('body', 'key')} AS signing_key, {value('body', 'paper')} AS envelope "
        "FROM event WHERE kind = 'evidence.added'",
        f"CREATE VIEW scores_readable AS SELECT seq AS entry, subject AS contributor, "
        f"{said('domain', 'source', 'at')}, "
        f"CAST({value('body', 'quality')} AS DOUBLE PRECISION) / 1e12 AS quality, "
        f"CAST({value('body', 'rows')} AS BIGINT) AS rows_scored, {value('body', 'batch')} AS batch "
        "FROM event WHERE kind = 'reputation.scored'",
        f"CREATE VIEW settlements_readable AS SELECT drafted.subject AS settlement, drafted.at AS drafted, "
        f"{value('by')} AS drafted_by, {value('body', 'currency')} AS currency, "
        f"{money(value('body', 'pool'))} AS pool, "
        + ", ".join(
            f"(SELECT MIN(e.at) FROM event e WHERE e.subject = drafted.subject AND e.kind = "
            f"'settlement.{step}') AS {step}"
            for step in ("approved", "withdrawn", "reversed")
        )
        + " FROM event drafted WHERE drafted.kind = 'settlement.drafted'",
        _CONTRIBUTORS,
    ]


_COUNTED = {
    "contribution": "files",
    "evidence.added": "evidence",
    "reputation.scored": "scores",
    "credit.held": "credits",
    "dispute.opened": "disputes",
    "contributor.erased": "erased",
}
_SINCE = "MIN(CASE WHEN kind = 'contributor.registered' THEN at END)"
_COUNTS = (f"SUM(CASE WHEN kind = '{kind}' THEN 1 ELSE 0 END) AS {name}" for kind, name in _COUNTED.items())
_CONTRIBUTORS = (
    f"CREATE VIEW contributors_readable AS SELECT subject AS contributor, {_SINCE} AS since, "
    f"{', '.join(_COUNTS)} FROM event GROUP BY subject HAVING {_SINCE} IS NOT NULL"
)
