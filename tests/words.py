"""Counts words that the glossary excludes, in prose and in names, by folder.

    python tests/words.py            # counts by folder, beside the committed ones
    python tests/words.py FOLDER     # every occurrence in a folder, with the replacement
    python tests/words.py --write    # commit the present counts

Prose is docstrings, comments, messages (string literals of three or more words), templates and hand-written
pages. Names are parameters, assigned variables, and names of tests. Code in backticks, examples and single
words, which may be data, are not counted.
"""

import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
TABLE = Path(__file__).parent / "data" / "words.json"

# Excluded words and phrases of prose, as regular expressions, with their replacements.
PHRASES = {
    r"(?:nobody|no ?one)(?:'s)?": "no contributor, or the defined set",
    r"somebody(?:'s)?|someone(?:'s)?": "a contributor, an annotator, a staff member",
    r"anybody(?:'s)?|anyone(?:'s)?": "any contributor",
    r"everybody(?:'s)?|everyone(?:'s)?": "all contributors",
    r"whoever|whomever": "the contributor, the user",
    r"as far as": "weighted by, if",
    r"so (?:many|often|much)": "the number",
    r"hardly": "a number",
    r"by (?:itself|themselves|himself)": "each, automatically",
    r"of (?:its|their|one's|his) own": "separate, individual",
    r"beforehand": "prior",
    r"likeliest": "most probable",
    r"how likely": "the probability of",
    r"at the door|the door": "input validation",
    r"vouch(?:es|ed|er|ing)?": "attest, credential",
    r"accus(?:e|es|ed|ing|ation|ations)": "flag",
    r"convict(?:s|ed|ing)?": "flag",
    r"liars?": "adversary",
    r"labellers?": "annotator",
    r"one voice|voices?": "vote",
    r"strangers?": "outlier",
    r"like nobody": "outlier",
    r"(?:does|do|did) not look": "spammer",
    r"cannot tell|can be told|nothing tells": "inconclusive",
    r"(?:is|are|was|were|be) (?:believed|doubted)": "p_correct",
    r"believed in": "p_correct",
    r"what is (?:believed|known|said|found|right|true|wrong)": "the estimate, the true label",
    r"(?:data|rows|labels|models?|columns?|samples?) (?:says?|said|tells?|speaks?)": "indicate, predict",
    r"(?:is|are|was|were) (?:told|heard)": "is provided",
    r"left (?:out|aside)": "excluded",
    r"rests? on": "depends on",
    r"mended|put right": "corrected",
    r"the books": "the ledger",
    r"share-out": "settlement",
    r"pictures?": "image",
    r"near-copies": "near-duplicates",
    r"(?:err|errs) together": "collective error",
    r"like what": "such as",
    r"on record": "registered",
    r"at hand": "available",
    r"in one sentence": "as an error message",
    r"knobs?": "hyperparameter",
    r"(?<!there )(?:is|are|was|were) no (?!longer|more|less|better|others?\b)\w+": "is not a ...",
    r"worth of": "accuracy of, value of",
    r"what (?:somebody|nobody|everybody|it takes|others|one)": "a noun",
}
PHRASE = re.compile("|".join(rf"\b(?:{each})\b" for each in PHRASES), re.IGNORECASE)
# A sentence that begins with a relative clause, unless it is a question.
CLAUSE = re.compile(r"(?:^|(?<=[.;:] ))(?:What|Who|Whom|Whose|Whether)\b(?![^.;:]*\?)", re.MULTILINE)
OPENING = re.compile(r"(?:What|Who|Whom|Whose|Whether|How|Where|When|Which|Why)\b")

# Excluded names of parameters and variables, with their replacements.
NAMES = {
    "who": "contributor_codes",
    "said": "posterior, prediction, message, parts",
    "told": "gold, stats",
    "seen": "p_without_label, class_counts",
    "found": "result, fit, or the noun",
    "some": "subset",
    "which": "index",
    "most": "max_n",
    "least": "min_n",
    "few": "n_small",
    "many": "n_large",
    "of": "total",
    "usual": "mean, median, prior",
    "rights": "expected_correct",
    "alike": "same_group",
    "beside": "extra, side_inputs",
    "hottest": "max_temperature",
    "spared": "exempt",
    "around": "neighbourhood",
    "believed": "p_correct",
    "voice": "vote",
    "voices": "votes",
}
CODE = re.compile(r"``[^`]*``|`[^`]*`")
EXAMPLE = re.compile(r"^\s*(?:>>>|\.\.\.).*$", re.MULTILINE)


class Hit(NamedTuple):
    """An excluded word in a file, and whether it is in prose or a name."""

    path: str
    line: int
    kind: str
    word: str


def of_prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the excluded words of a text, each with the number of lines before it."""
    plain = EXAMPLE.sub("", CODE.sub("", text))
    for pattern in (PHRASE, CLAUSE):
        for match in pattern.finditer(plain):
            yield plain.count("\n", 0, match.start()), match.group().lower()


def replacement_of(word: str) -> str:
    """Return the replacement of an excluded word."""
    fits = (new for old, new in PHRASES.items() if re.fullmatch(old, word, re.IGNORECASE))
    return next(fits, NAMES.get(word, "a noun phrase, or a verb with a subject"))


def _string(node: ast.expr) -> str | None:
    """Return a string literal; the values in an f-string become `{}`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) else "`{}`" for v in node.values)
    return None


def _strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield docstrings and string literals of three or more words, with their lines."""
    within = {id(v) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for v in node.values}
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr) or id(node) in within:
            continue
        if (text := _string(node)) is not None and len(text.split()) > 2:
            yield node.lineno, text


def _names(tree: ast.AST, tests: bool) -> Iterator[tuple[int, str]]:
    """Yield excluded names of parameters and variables; of tests, excluded words in their names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg in NAMES:
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in NAMES:
            yield node.lineno, node.id
        elif tests and isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            for _, word in of_prose(node.name.removeprefix("test_").replace("_", " ")):
                yield node.lineno, word


def of_python(path: str, text: str, tests: bool = False) -> list[Hit]:
    """Return the excluded words of a module."""
    tree = ast.parse(text)
    found = [Hit(path, start + n, "prose", w) for start, s in _strings(tree) for n, w in of_prose(s)]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comment = token.string.lstrip("# ")
            found += [Hit(path, token.start[0], "prose", word) for _, word in of_prose(comment)]
    return found + [Hit(path, line, "names", word) for line, word in _names(tree, tests)]


def of_page(path: str, text: str) -> list[Hit]:
    """Return the excluded words of a hand-written page, without its code blocks."""
    plain = re.sub(r"^```.*?^```", lambda m: "\n" * m[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    return [Hit(path, n + 1, "prose", word) for n, word in of_prose(plain)]


def of_template(path: str, text: str) -> list[Hit]:
    """Return the excluded words in the text of a template, without its tags, scripts and placeholders."""
    code = r"<(script|style)\b.*?</\1>|\{[{%#].*?[}%#]\}|<[^>]*>"
    plain = re.sub(code, lambda m: "\n" * m[0].count("\n") or " ", text, flags=re.DOTALL)
    return [Hit(path, n + 1, "prose", word) for n, word in of_prose(plain)]


def files() -> Iterator[tuple[str, Path]]:
    """Yield every counted file with the folder that it is counted in."""
    for path in sorted(ROOT.glob("src/anml/**/*")):
        if path.suffix in (".py", ".html", ".j2") and path.is_file():
            parts = path.relative_to(ROOT / "src" / "anml").parts
            yield f"src/anml/{parts[0]}" if len(parts) > 1 else "src/anml", path
    for folder in ("experiments", "bench", "docs/tools", "docs/examples", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not path.name.startswith(("words.py", "test_words.py")):
                yield folder, path
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("experiments/*.md")]):
        if "Generated by" not in path.read_text(encoding="utf-8")[:2_000]:
            yield "docs", path


def hits() -> Iterator[tuple[str, Hit]]:
    """Yield every excluded word of the project with its folder."""
    for folder, path in files():
        name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            each = of_python(name, text, folder == "tests")
        else:
            each = of_page(name, text) if path.suffix == ".md" else of_template(name, text)
        yield from ((folder, hit) for hit in each)


def counts() -> dict[str, dict[str, int]]:
    """Count the excluded words of each folder, in prose and in names."""
    out: dict[str, Counter[str]] = {folder: Counter(prose=0, names=0) for folder, _ in files()}
    for folder, hit in hits():
        out[folder][hit.kind] += 1
    return {folder: dict(sorted(out[folder].items())) for folder in sorted(out)}


def openings(path: Path) -> list[str]:
    """Return the docstrings of a module that begin with an excluded word, as `line: text`."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, kinds)
    ]
    texts = [(node.body[0].lineno, text) for node in nodes if (text := ast.get_docstring(node))]
    return [f"{line}: {text.splitlines()[0]}" for line, text in texts if OPENING.match(text)]


def main(arguments: list[str]) -> None:
    """Print or write the counts."""
    if arguments == ["--write"]:
        TABLE.write_text(json.dumps(counts(), indent=1) + "\n", encoding="utf-8")
    elif arguments:
        for folder, hit in hits():
            if folder == arguments[0].rstrip("/"):
                print(f"{hit.path}:{hit.line}: {hit.word} -> {replacement_of(hit.word)}")
    else:
        committed = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.is_file() else {}
        for folder, now in counts().items():
            former = committed.get(folder, {})
            print(f"{folder:24}", *(f"{kind} {n} (of {former.get(kind, 0)})" for kind, n in now.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
