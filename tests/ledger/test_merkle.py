"""The tree: against the recursive definition of RFC 6962, and every proof against every wrong one."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.canonical import EMPTY_ROOT, MerkleTree, leaf_hash, node_hash
from anml.core.errors import InputError
from ledger.ledger_paths import verify_consistency, verify_inclusion


def recursive_root(leaves: list[bytes]) -> bytes:
    """The definition, written as in the RFC."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return node_hash(recursive_root(leaves[:k]), recursive_root(leaves[k:]))


def grow(n: int) -> list[bytes]:
    return [leaf_hash(str(i).encode()) for i in range(n)]


def test_known_roots():
    # The empty tree and one empty leaf, as in the test data of certificate transparency logs.
    assert EMPTY_ROOT.hex().startswith("e3b0c44298fc1c149afbf4c8996fb924")
    assert leaf_hash(b"").hex().startswith("6e340b9cffb37a989ca544e6bb780a2c")
    assert MerkleTree([]).root == EMPTY_ROOT


def test_roots_and_proofs_for_every_small_size():
    for n in range(1, 34):
        leaves = grow(n)
        tree = MerkleTree(leaves)
        assert tree.root == recursive_root(leaves)
        for i in range(n):
            path = tree.inclusion(i)
            assert verify_inclusion(leaves[i], i, n, path, tree.root)
            assert not verify_inclusion(leaves[i], i, n, [*path, b"x" * 32], tree.root)
            assert not verify_inclusion(b"y" * 32, i, n, path, tree.root)
        for old in range(1, n + 1):
            older = MerkleTree(leaves[:old]).root
            path = tree.consistency(old)
            assert verify_consistency(old, older, n, tree.root, path)
            assert not verify_consistency(old, b"z" * 32, n, tree.root, path)
            if path:
                assert not verify_consistency(old, older, n, tree.root, path[:-1])


@given(st.integers(2, 200), st.data())
def test_a_changed_leaf_breaks_proofs(n, data):
    leaves = grow(n)
    i, j = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    changed = [*leaves]
    changed[j] = leaf_hash(b"other")
    assert MerkleTree(changed).root != MerkleTree(leaves).root
    assert (
        not verify_inclusion(leaves[i], i, n, MerkleTree(changed).inclusion(i), MerkleTree(leaves).root)
        or i == j
    )


@given(st.integers(1, 60), st.data())
def test_a_proof_holds_for_its_place_and_size_alone(n, data):
    i, j = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    leaves = grow(n)
    tree = MerkleTree(leaves)
    assert verify_inclusion(leaves[i], j, n, tree.inclusion(i), tree.root) == (i == j)
    assert not verify_inclusion(leaves[i], n, n, tree.inclusion(i), tree.root)
    assert not verify_inclusion(leaves[i], -1, n, tree.inclusion(i), tree.root)


@given(st.integers(1, 200))
def test_paths_are_as_short_as_the_tree_is_high(n):
    tree = MerkleTree(grow(n))
    assert max(len(tree.inclusion(i)) for i in range(n)) <= (n - 1).bit_length()
    assert len(tree) == n


def test_a_leaf_is_never_taken_for_a_node():
    """The prefixes differ: two leaves cannot be passed off as one entry that holds their hashes."""
    left, right = leaf_hash(b"a"), leaf_hash(b"b")
    assert leaf_hash(left + right) != node_hash(left, right)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda tree: tree.inclusion(3), "leaf 3 is not in a tree of 3 leaves"),
        (lambda tree: tree.inclusion(-1), "leaf -1 is not in a tree"),
        (lambda tree: tree.consistency(0), "an older tree has between 1 and 3 leaves, got 0"),
        (lambda tree: tree.consistency(4), "got 4"),
    ],
)
def test_what_is_not_in_the_tree_is_said(ask, says):
    with pytest.raises(InputError, match=says):
        ask(MerkleTree(grow(3)))


@pytest.mark.parametrize(("old", "new"), [(0, 5), (6, 5)])
def test_no_tree_grows_from_nothing_or_shrinks(old, new):
    tree = MerkleTree(grow(new))
    assert not verify_consistency(old, EMPTY_ROOT, new, tree.root, [])
