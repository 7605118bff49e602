"""Pictures: folders and columns of paths, read one at a time, and what is no picture."""

import io

import numpy as np
import polars as pl
import pytest

from anml.core.errors import InputError
from anml.io import images as pictures
from anml.io.images import ENDINGS, TABLES, Images, decode_image, is_image, picture_column, read_folder

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def picture(path, size=(8, 8), colour=(255, 0, 0), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, colour).save(path)
    return path


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_ending_in_any_case(ending):
    assert is_image(f"x{ending}")
    assert is_image(f"X{ending.upper()}")
    assert not is_image(f"x{ending}.txt")


class TestFolder:
    def test_the_folder_of_a_picture_is_its_label(self, tmp_path):
        for label in ("cat", "dog"):
            picture(tmp_path / label / "1.png")
        frame = read_folder(tmp_path).frame
        assert frame.rows() == [("cat/1.png", "cat"), ("dog/1.png", "dog")]
        assert frame.columns == ["image", "label"]

    def test_a_folder_above_is_its_contributor(self, tmp_path):
        picture(tmp_path / "ann" / "cat" / "1.png")
        picture(tmp_path / "bob" / "cat" / "1.png")
        assert read_folder(tmp_path).frame["contributor"].to_list() == ["ann", "bob"]

    @pytest.mark.parametrize("name", TABLES)
    def test_a_table_among_them_is_read_instead(self, name, tmp_path):
        picture(tmp_path / "1.png")
        (tmp_path / f"{name}.csv").write_text("image,label\n1.png,cat\n")
        assert read_folder(tmp_path).frame.rows() == [("1.png", "cat")]

    def test_the_hash_follows_contents_and_names_and_nothing_else(self, tmp_path):
        made = [tmp_path / at for at in ("one", "two", "other", "renamed")]
        for folder in made:
            picture(folder / "cat" / ("2.png" if folder.name == "renamed" else "1.png"),
                    colour=(0, 0, 255) if folder.name == "other" else (255, 0, 0))  # fmt: skip
        hashes = [read_folder(folder).sha256 for folder in made]
        assert hashes[0] == hashes[1]
        assert len(set(hashes)) == 3

    @pytest.mark.parametrize(
        ("paths", "says"),
        [
            ([], "a CSV, TSV or Parquet file is needed, or a folder of pictures"),
            (["1.png"], "must lie in LABEL/picture or CONTRIBUTOR/LABEL/picture"),
            (["cat/1.png", "ann/cat/1.png"], "must lie in LABEL/picture"),
            (["a/b/c/1.png"], "must lie in LABEL/picture"),
        ],
    )
    def test_other_folders_are_refused(self, paths, says, tmp_path):
        for path in paths:
            picture(tmp_path / path)
        with pytest.raises(InputError, match=says):
            read_folder(tmp_path)


class TestColumn:
    def test_the_first_column_whose_values_all_end_as_pictures_do(self):
        frame = pl.DataFrame(
            {"note": ["a.png", "none"], "file": ["a.png", "b.JPG"], "more": ["a.gif", "b.gif"]}
        )
        assert picture_column(frame) == "file"

    @pytest.mark.parametrize("values", [["a.png", None], [1, 2], ["a.txt", "b.png"]])
    def test_columns_with_anything_else_are_none(self, values):
        assert picture_column(pl.DataFrame({"c": values})) is None

    def test_a_column_that_was_named_is_taken_or_missed(self):
        frame = pl.DataFrame({"c": ["x", "y"]})
        assert picture_column(frame, "c") == "c"
        with pytest.raises(InputError, match="there is no column 'd' for pictures; columns: c"):
            picture_column(frame, "d")


class TestPictures:
    @pytest.mark.parametrize(("mode", "colour"), [("L", 128), ("RGBA", (255, 0, 0, 128)), ("1", 1), ("P", 3)])
    def test_every_mode_is_red_green_and_blue(self, mode, colour, tmp_path):
        picture(tmp_path / "x.png", colour=colour, mode=mode)
        assert Images(["x.png"], tmp_path).image(0).mode == "RGB"

    @pytest.mark.parametrize("size", [(40, 20), (20, 40), (8, 8), (100, 1)])
    def test_small_ones_are_centred_on_grey(self, size, tmp_path):
        picture(tmp_path / "x.png", size, (255, 255, 255))
        small = Images(["x.png"], tmp_path).small(16)[0]
        assert small.shape == (3, 16, 16)
        white = (small == 255).all(axis=0)
        scale = min(1.0, 16 / max(size))
        assert abs(white.sum() - max(round(size[0] * scale), 1) * max(round(size[1] * scale), 1)) <= 16
        assert (small[:, ~white] == 128).all()
        rows, columns = np.nonzero(white)
        assert abs(rows.mean() - 7.5) <= 0.5
        assert abs(columns.mean() - 7.5) <= 0.5

    def test_equal_files_have_equal_hashes(self, tmp_path):
        for name, colour in (("a.png", (1, 2, 3)), ("b.png", (1, 2, 3)), ("c.png", (3, 2, 1))):
            picture(tmp_path / name, colour=colour)
        one, two, other = Images(["a.png", "b.png", "c.png"], tmp_path).hashes()
        assert one == two != other

    def test_a_thumbnail_is_a_small_png(self, tmp_path):
        picture(tmp_path / "x.png", (300, 200))
        result = Image.open(io.BytesIO(Images(["x.png"], tmp_path).thumbnail(0, 72)))
        assert (result.format, result.size) == ("PNG", (72, 48))

    def test_a_file_that_is_not_there_is_named_with_its_row(self, tmp_path):
        picture(tmp_path / "a.png")
        with pytest.raises(InputError, match=r"picture 'gone\.png' of row 1 cannot be read"):
            Images(["a.png", "gone.png"], tmp_path).image(1)

    @pytest.mark.parametrize("content", [b"", b"text", b"\x89PNG\r\n\x1a\n"])
    def test_what_is_no_picture_is_named(self, content):
        with pytest.raises(InputError, match=r"'x\.png' is no picture that can be read, or is damaged"):
            decode_image(content, "x.png")

    def test_a_damaged_picture_is_named(self, tmp_path):
        whole = picture(tmp_path / "x.png", (64, 64)).read_bytes()
        with pytest.raises(InputError, match="is damaged"):
            decode_image(whole[: len(whole) // 2], "x.png")

    def test_a_picture_that_would_fill_the_memory_is_not_opened(self, tmp_path, monkeypatch):
        monkeypatch.setattr(pictures, "MAX_PIXELS", 100)
        content = picture(tmp_path / "x.png", (11, 10)).read_bytes()
        with pytest.raises(InputError, match="has 11 x 10 pixels, too many to read"):
            decode_image(content, "x.png")
