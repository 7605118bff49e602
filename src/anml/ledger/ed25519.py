"""Validation of Ed25519 public keys: a canonically encoded point of the large prime order.

A key of small order accepts forged signatures, and libraries do not reject it.
"""

from functools import lru_cache

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
Point = tuple[int, int, int, int]
_NEUTRAL: Point = (0, 1, 1, 0)


@lru_cache(maxsize=1024)
def is_sound_key(raw: bytes) -> bool:
    """On the curve, spelt canonically, and of the prime order."""
    point = _decode(raw) if len(raw) == 32 else None
    if point is None or _same(point, _NEUTRAL):
        return False
    return _same(_times(ORDER, point), _NEUTRAL)


def _decode(raw: bytes) -> Point | None:
    number = int.from_bytes(raw, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != square or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


def _add(a: Point, b: Point) -> Point:
    # RFC 8032, section 5.1.4.
    left, right = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    c, d = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = right - left, d - c, d + c, right + left
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(factor: int, point: Point) -> Point:
    found = _NEUTRAL
    while factor:
        if factor & 1:
            found = _add(found, point)
        point, factor = _add(point, point), factor >> 1
    return found


def _same(a: Point, b: Point) -> bool:
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0
