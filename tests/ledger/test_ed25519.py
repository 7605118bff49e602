"""Sound Ed25519 keys: those that cryptography makes pass, those of small order and bad spelling do not."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.ledger.ed25519 import ORDER, D, P, _add, _decode, _same, _times, is_sound_key

# The base point of RFC 8032: y = 4/5.
BASE = (4 * pow(5, P - 2, P) % P).to_bytes(32, "little")
NEUTRAL = (0, 1, 1, 0)


def public(seed: bytes) -> bytes:
    key = Ed25519PrivateKey.from_private_bytes(seed).public_key()
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def small_points():
    """All eight points whose order divides eight: multiples of the order of a point off the large group."""
    found = set()
    for y in range(2, 60):
        point = _decode(y.to_bytes(32, "little"))
        if point is not None:
            small = _times(ORDER, point)
            for factor in range(8):
                found.add(spelt(_times(factor, small)))
    return found


def spelt(point) -> bytes:
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


@settings(max_examples=20)
@given(st.binary(min_size=32, max_size=32))
def test_every_key_that_is_made_is_sound(seed):
    assert is_sound_key(public(seed))


def test_all_points_of_small_order_are_refused():
    points = small_points()
    assert len(points) == 8
    assert not any(is_sound_key(raw) for raw in points)


def test_a_sound_point_with_a_small_part_added_is_refused():
    """Of order eight times the prime: a signature by it holds for several messages."""
    small = next(raw for raw in sorted(small_points()) if raw != spelt(NEUTRAL))
    both = spelt(_add(_decode(BASE), _decode(small)))
    assert is_sound_key(BASE)
    assert not is_sound_key(both)


def test_a_second_spelling_of_a_point_is_refused():
    # y and y + P are the same number; only what is below P is the point's spelling.
    low = [y for y in range(19) if _decode(y.to_bytes(32, "little")) is not None]
    assert len(low) > 3
    assert all(_decode((y + P).to_bytes(32, "little")) is None for y in low)


def test_minus_zero_is_no_spelling():
    one_with_sign = (1 | 1 << 255).to_bytes(32, "little")
    assert _decode(one_with_sign) is None


@pytest.mark.parametrize("raw", [b"", bytes(31), BASE + b"\x00", b"\xff" * 32])
def test_other_bytes_are_no_key(raw):
    assert not is_sound_key(raw)


def test_about_half_of_all_numbers_are_on_the_curve():
    on = sum(_decode(y.to_bytes(32, "little")) is not None for y in range(2, 202))
    assert 70 < on < 130


def test_decoded_points_lie_on_the_curve():
    # -x² + y² = 1 + d x² y², and the last coordinate is x y.
    for y in range(2, 40):
        point = _decode(y.to_bytes(32, "little"))
        if point is not None:
            x, y_, z, t = point
            assert (-x * x + y_ * y_ - 1 - D * x * x * y_ * y_) % P == 0
            assert (z, t) == (1, x * y_ % P)


@settings(max_examples=15)
@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_multiples_add_up(one, other):
    point = _decode(BASE)
    assert _same(_add(_times(one, point), _times(other, point)), _times(one + other, point))


def test_the_order_of_the_base_point_is_the_prime():
    point = _decode(BASE)
    assert _same(_times(ORDER, point), NEUTRAL)
    assert _same(_times(ORDER + 1, point), point)
    assert not _same(_times(8, point), NEUTRAL)
