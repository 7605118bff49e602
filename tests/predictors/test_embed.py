"""Features by a named model or any function: asked once for equal contents, checked, and kept."""

import hashlib

import numpy as np
import pytest
import torch

from anml.core.errors import InputError, UnsupportedError
from anml.predictors.embed import BACKENDS, BATCH, Embedder, embed_cached, load_embedder


class TestEmbedders:
    @pytest.mark.parametrize(
        ("wanted", "said"),
        [
            ("resnet", "embed must be a function or one of torchvision:NAME, timm:NAME"),
            ("openai:ada", "embed must be a function or one of"),
        ],
    )
    def test_names_that_do_not_exist(self, wanted, said):
        with pytest.raises(InputError, match=said):
            load_embedder(wanted)

    @pytest.mark.parametrize("wanted", ["timm:vit_tiny", "sentence-transformers:all-MiniLM-L6-v2"])
    def test_a_package_that_is_missing_is_named(self, wanted):
        if __import__("importlib").util.find_spec(wanted.split(":")[0].replace("-", "_")):
            pytest.skip("it is there")
        with pytest.raises(UnsupportedError, match="needs the package"):
            load_embedder(wanted)

    def test_equal_contents_are_embedded_once(self):
        asked = []

        def embed(contents):
            asked.extend(contents)
            return [[float(len(content))] for content in contents]

        found = embed_cached(Embedder(embed, None), ["h1", "h2", "h1"], ["a", "bb", "a"].__getitem__)
        assert asked == ["a", "bb"]
        assert found.tolist() == [[1.0], [2.0], [1.0]]

    @pytest.mark.parametrize(
        ("returned", "said"),
        [
            ([[1.0]], "one vector each for 2 contents"),
            ([[1.0], ["x"]], "must return numbers"),
            ([[1.0], [float("nan")]], "missing or infinite"),
        ],
    )
    def test_what_a_function_returns_is_checked(self, returned, said):
        with pytest.raises(InputError, match=said):
            embed_cached(Embedder(lambda _: returned, None), ["h1", "h2"], ["a", "b"].__getitem__)

    @pytest.mark.parametrize("content", [b"nothing", b"", b"PK\x03\x04", b"\x93NUMPY"])
    def test_a_damaged_cache_is_made_anew(self, tmp_path, content):
        named = Embedder(lambda contents: [[1.0]] * len(contents), "key")
        embed_cached(named, ["h"], ["a"].__getitem__, tmp_path)
        next(tmp_path.glob("*.npz")).write_bytes(content)
        assert embed_cached(named, ["h"], ["a"].__getitem__, tmp_path).tolist() == [[1.0]]


def counted(width=1):
    """A function that embeds text by its length, and how many contents each call was asked for."""
    asked = []

    def embed(contents):
        asked.append(len(contents))
        return np.array([[float(len(content))] * width for content in contents])

    return embed, asked


def of(texts):
    return [hashlib.sha256(text.encode()).hexdigest() for text in texts], texts.__getitem__


class TestNames:
    def test_a_function_is_taken_as_it_is_and_kept_only_under_a_name(self):
        def embed(contents):
            return contents

        assert load_embedder(embed) == (embed, None)
        embed.cache_key = "mine:1"
        assert load_embedder(embed) == (embed, "mine:1")

    @pytest.mark.parametrize("library", BACKENDS)
    def test_every_library_needs_the_name_of_a_model(self, library):
        for wanted in (library, f"{library}:"):
            with pytest.raises(InputError, match=f"got '{wanted}'"):
                load_embedder(wanted)

    @pytest.mark.parametrize("library", BACKENDS)
    def test_what_goes_wrong_inside_is_said_in_one_line(self, library, monkeypatch):
        def broken(name, device):
            raise RuntimeError("no such weights\nand a long story")

        monkeypatch.setitem(BACKENDS, library, broken)
        with pytest.raises(InputError, match=r"cannot be loaded: no such weights$"):
            load_embedder(f"{library}:x")

    @pytest.mark.parametrize("library", BACKENDS)
    def test_a_model_is_kept_under_its_name(self, library, monkeypatch):
        embed, _ = counted()
        monkeypatch.setitem(BACKENDS, library, lambda name, device: embed)
        assert load_embedder(f"{library}:tiny") == (embed, f"{library}:tiny")


class TestEmbedded:
    def test_contents_are_asked_for_in_batches_and_in_order(self):
        texts = ["x" * (at + 1) for at in range(2 * BATCH + 3)]
        embed, asked = counted()
        said = []
        found = embed_cached(Embedder(embed, None), *of(texts), progress=lambda *what: said.append(what))
        assert asked == [BATCH, BATCH, 3]
        np.testing.assert_array_equal(found[:, 0], np.arange(1, len(texts) + 1))
        assert said == [("embedding", done, len(texts)) for done in (BATCH, 2 * BATCH, len(texts))]

    def test_what_was_embedded_before_is_not_asked_for_again(self, tmp_path):
        embed, asked = counted()
        named = Embedder(embed, "mine")
        first = embed_cached(named, *of(["a", "bb"]), cache=tmp_path)
        both = embed_cached(named, *of(["bb", "ccc", "a"]), cache=tmp_path)
        assert asked == [2, 1]
        np.testing.assert_array_equal(both[:, 0], [2, 3, 1])
        np.testing.assert_array_equal(first[:, 0], [1, 2])

    def test_models_of_different_names_share_nothing(self, tmp_path):
        one, two = counted(), counted(2)
        embed_cached(Embedder(one[0], "one"), *of(["a"]), cache=tmp_path)
        assert embed_cached(Embedder(two[0], "two"), *of(["a"]), cache=tmp_path).shape == (1, 2)
        assert len(list(tmp_path.glob("*.npz"))) == 2

    def test_a_function_without_a_name_leaves_nothing_behind(self, tmp_path):
        embed, _ = counted()
        embed_cached(Embedder(embed, None), *of(["a"]), cache=tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_no_half_written_file_is_left(self, tmp_path):
        embed, _ = counted()
        embed_cached(Embedder(embed, "mine"), *of(["a"]), cache=tmp_path / "new")
        assert [path.suffixes for path in (tmp_path / "new").iterdir()] == [[".npz"]]

    def test_tensors_are_numbers_too(self):
        found = embed_cached(
            Embedder(lambda texts: torch.ones(len(texts), 3, requires_grad=True), None), *of(["a"])
        )
        np.testing.assert_array_equal(found, [[1.0, 1.0, 1.0]])

    def test_a_width_that_changes_is_refused(self, tmp_path):
        embed_cached(Embedder(counted(1)[0], "mine"), *of(["a"]), cache=tmp_path)
        with pytest.raises(InputError, match="vectors of 2 numbers after ones of 1"):
            embed_cached(Embedder(counted(2)[0], "mine"), *of(["b"]), cache=tmp_path)

    @pytest.mark.parametrize("returned", [[1.0, 2.0], np.ones((2, 2, 2)), np.ones((0, 3))])
    def test_every_other_shape_is_named(self, returned):
        with pytest.raises(InputError, match=r"one vector each for 2 contents, got shape"):
            embed_cached(Embedder(lambda _: returned, None), *of(["a", "b"]))
