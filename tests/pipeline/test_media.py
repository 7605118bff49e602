"""Pictures and texts: folders, columns of paths, embeddings by any function, kept by content."""

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import average_precision_score

import anml
import made_up
from anml.core.errors import AnmlError, InputError
from anml.io.images import Images, read_folder

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("shared_results")]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    frame, wrong = made_up.pictures(folder)
    frame.write_csv(folder / "contributed.csv")
    return folder, frame, wrong


def colours(images):
    """An embedding of the user's own: where the ink is, coarsely."""
    return [np.asarray(image.convert("L").resize((12, 12)), dtype=float).ravel() for image in images]


class TestPictures:
    def test_a_folder_is_audited_and_the_report_shows_them(self, pictures, tmp_path):
        folder, _, wrong = pictures
        audit = anml.audit(folder, evaluate=False, progress=False)
        result = average_precision_score(wrong, 1 - audit.samples["p_correct"].to_numpy())
        assert result > 0.9
        page = audit.report(tmp_path / "report.html").read_text()
        assert page.count("data:image/png;base64,") == min(20, int((~audit.samples["kept"]).sum()))

    def test_an_embedding_of_the_users_own_is_asked_once(self, pictures, tmp_path):
        folder, frame, _ = pictures
        asked = []

        def embed(images):
            asked.append(len(images))
            return colours(images)

        embed.cache_key = "test:colours"
        frame.head(60).write_csv(folder / "some.csv")
        for _ in range(2):
            audit = anml.audit(
                folder / "some.csv", evaluate=False, embeddings=anml.Encoder(model=embed, cache_dir=tmp_path)
            )
        assert sum(asked) == 60
        assert "embeddings with 144 dimensions" in " ".join(audit._result.notes)

    def test_folders_name_labels_and_contributors(self, tmp_path):
        rng = np.random.default_rng(0)
        for contributor in ("ann", "bob"):
            for shape in made_up.SHAPES[:2]:
                (tmp_path / contributor / shape).mkdir(parents=True)
                for at in range(3):
                    made_up.drawn(shape, rng).save(tmp_path / contributor / shape / f"{at}.png")
        table = read_folder(tmp_path)
        assert table.frame.columns == ["image", "label", "contributor"]
        assert table.frame["label"].unique().sort().to_list() == ["circle", "square"]
        before = table.sha256
        made_up.drawn("ring", rng).save(tmp_path / "ann" / "circle" / "0.png")
        assert read_folder(tmp_path).sha256 != before

    def test_what_is_no_picture(self, tmp_path):
        with pytest.raises(InputError, match="file is needed, or a folder of pictures"):
            anml.audit(tmp_path)
        (tmp_path / "flat.png").write_bytes(b"")
        with pytest.raises(InputError, match="must lie in LABEL/picture"):
            anml.audit(tmp_path)
        (tmp_path / "a.csv").write_text("image,label\nflat.png,x\nflat.png,y\nflat.png,x\nflat.png,y\n")
        with pytest.raises(InputError, match=r"'flat\.png' is no picture that can be read"):
            anml.audit(tmp_path / "a.csv")
        (tmp_path / "a.csv").write_text("image,label\nno.png,x\nno.png,y\nno.png,x\nno.png,y\n")
        with pytest.raises(InputError, match="the images in column 'image' were not read"):
            anml.audit(tmp_path / "a.csv")

    def test_small_pictures_keep_their_proportions(self, tmp_path):
        from PIL import Image

        Image.new("RGB", (40, 20), (255, 0, 0)).save(tmp_path / "wide.png")
        small = Images(["wide.png"], tmp_path).small(32)
        assert small.shape == (1, 3, 32, 32)
        assert small[0, 0, 16, 16] == 255
        assert small[0, :, 0, 0].tolist() == [128, 128, 128]


class TestTexts:
    frame = pl.DataFrame(
        {
            "text": [f"the {'cat sat' if at % 2 else 'stock fell'} again, number {at}" for at in range(300)],
            "label": ["pets" if (at % 2) ^ (at % 10 == 4) else "money" for at in range(300)],
            "contributor": [f"c{at % 10}" for at in range(300)],
        }
    )

    def test_texts_are_embedded_and_shown(self, tmp_path):
        def embed(texts):
            return [[text.count("cat"), text.count("stock"), len(text)] for text in texts]

        audit = anml.audit(
            self.frame,
            evaluate=False,
            progress=False,
            embeddings=anml.Encoder(column="text", kind="text", model=embed),
        )
        worst = audit.samples.sort("p_correct")["row"].head(30).to_list()
        assert {row % 10 for row in worst} == {4}
        assert "the stock fell again, number" in audit.report(tmp_path / "r.html").read_text()

    def test_without_a_model_words_are_used_and_texts_shown(self, tmp_path):
        audit = anml.audit(self.frame, evaluate=False, progress=False)
        assert "the stock fell again, number" in audit.report(tmp_path / "r.html").read_text()


def test_embed_without_a_column():
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "label": ["x", "y", "x", "y"]})
    with pytest.raises(AnmlError, match=r"no column of images or of texts; name one with encoder\.column"):
        anml.audit(frame, embeddings=anml.Encoder(model=lambda x: x))
