"""Spellings of one value: which are the same, and which are only similar."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

# Answers of contributors who gave no label, as `bare` writes them.
NO_ANSWER = frozenset(
    ("skip", "skipped", "unsure", "not sure", "dont know", "do not know", "idk", "cannot tell", "cant tell",
     "no answer", "no response", "refused", "abstain", "undecided", "prefer not to say", "n a", "nan",
     "null", "nil", "ref", "value", "div 0", "weiss nicht", "weiß nicht", "keine angabe", "k a")
)  # fmt: skip
# Names of rows that sum up other rows.
AGGREGATES = frozenset(
    ("consensus", "majority", "majority vote", "aggregate", "aggregated", "gold", "gold standard",
     "ground truth", "truth", "total", "grand total", "subtotal", "sum", "overall", "average", "mean",
     "gesamt", "summe")
)  # fmt: skip
# Spellings of false and true, in systems that a file may mix.
FLAGS = (("false", "true"), ("0", "1"), ("no", "yes"), ("n", "y"), ("f", "t"))
# A misspelling is rarer than this share of the word, and the word has this many letters.
MAX_MISSPELT_SHARE, MIN_LETTERS = 0.05, 5
# More values are not compared for near spellings.
MAX_COMPARED = 20_000
INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad\u202a-\u202e]")


def normalise(text: str) -> str:
    """Return a text in one Unicode form, without invisible characters, with single blanks; 11.0 as 11."""
    plain = " ".join(INVISIBLE.sub("", unicodedata.normalize("NFC", text)).split())
    return plain[: plain.index(".")] if re.fullmatch(r"-?(0|[1-9]\d*)\.0+", plain) else plain


def without_case(text: str) -> str:
    """Return a text without case, in the compatible Unicode form."""
    return unicodedata.normalize("NFKC", text).lower()


def fold(text: str) -> str:
    """Return a text without case, with one blank for each separator, without a full stop at the end."""
    plain = without_case(text)
    return re.sub(r"(?<=\w)[\s_\-]+(?=\w)", " ", plain).rstrip(".!;:, ") or plain


def bare(text: str) -> str:
    """Return the words of a text without case and punctuation."""
    return re.sub(r"[\W_]+", " ", re.sub("['’]", "", without_case(text))).strip()


def shown(text: str) -> str:
    """Return a text in quotes, with codes where characters do not show."""
    plain = unicodedata.is_normalized("NFC", text) and not INVISIBLE.search(text) and "\xa0" not in text
    return repr(text) if plain else ascii(text)


def missing_answers(texts: list[str]) -> list[str]:
    """Return the labels that say that no label was given, if two others remain."""
    words = {text: bare(text) for text in texts}
    result = [text for text, word in words.items() if word in NO_ANSWER or not word]
    # Signs are classes beside other signs, as + and - are.
    if sum(not word for word in words.values()) > 1:
        result = [text for text in result if words[text]]
    return result if len(texts) - len(result) >= 2 else []


def groups(counts: Mapping[str, int], key: Callable[[str], str]) -> list[list[str]]:
    """Return values with one key, the most frequent first, where there are several."""
    values: dict[str, list[str]] = defaultdict(list)
    for value in counts:
        values[key(value)].append(value)
    return [forms for forms in values.values() if len(forms) > 1]


def flag_spellings(counts: Mapping[str, int]) -> dict[str, str]:
    """Return spellings of true and false in several systems, each with that of the most frequent system."""
    keys = {form: fold(form) for form in counts}
    sides = {key: side for pair in FLAGS for side, key in enumerate(pair)}
    if len(set(keys.values())) <= 2 or not set(keys.values()) <= sides.keys():
        return {}
    used = Counter({pair: sum(n for form, n in counts.items() if keys[form] in pair) for pair in FLAGS})
    chosen = max(FLAGS, key=lambda pair: used[pair])
    name = {key: next((form for form in counts if keys[form] == key), key) for key in chosen}
    return {form: name[chosen[sides[key]]] for form, key in keys.items()}


def is_natural_case(name: str) -> bool:
    """Return True if capitals are those of words or of an address, not of a random identifier."""
    words = [word for word in re.split(r"[\W\d_]+", name) if word]
    return len(name) > 1 and ("@" in name or all(w.isupper() or w[1:] == w[1:].lower() for w in words))


def near_spellings(counts: Mapping[str, int]) -> list[list[str]]:
    """Return pairs of values of which one may be a misspelling of the other, the more frequent first."""
    if len(counts) > MAX_COMPARED:
        return []
    joined: dict[str, list[str]] = defaultdict(list)
    cuts: dict[str, list[str]] = defaultdict(list)
    for value in counts:
        word = fold(value)
        # Numbers tell names apart: worker 1 and worker 2.
        if re.search(r"\d", word):
            continue
        joined[re.sub(r"(?<=\w)[\s._\-]+(?=\w)", "", word)].append(value)
        if len(word) >= MIN_LETTERS:
            for cut in {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}:
                cuts[cut].append(value)
    pairs = {(forms[0], form): None for forms in joined.values() for form in forms[1:]}
    for forms in cuts.values():
        rare = max(1, MAX_MISSPELT_SHARE * counts[forms[0]])
        pairs |= {(forms[0], form): None for form in forms[1:] if counts[form] <= rare}
    return [list(pair) for pair in pairs]
