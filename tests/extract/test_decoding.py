"""Images are decoded as by torchvision's ImageFolder: the first frame, as RGB."""

import io
import struct

import numpy as np
import pytest
from PIL import Image

from pictures import encoded, noise
from twohot.extract import LabelledItems
from twohot.extract.backbones import load_torchvision
from twohot.extract.decoding import content_of, open_image, reason_of


def saved(image, file_format, **options):
    buffer = io.BytesIO()
    image.save(buffer, file_format, **options)
    return buffer.getvalue()


def rotated():
    exif = Image.Exif()
    exif[0x0112] = 6  # the orientation that phones write: turn by 90° to look at it
    return saved(Image.fromarray(noise(0)), "JPEG", exif=exif)


COLOUR = Image.fromarray(noise(0))
SORTS = {
    "rgb.png": encoded(noise(0)),
    "grey.png": saved(COLOUR.convert("L"), "PNG"),
    "palette.png": saved(COLOUR.convert("P"), "PNG"),
    "transparent.png": saved(COLOUR.convert("RGBA"), "PNG"),
    "black_and_white.png": saved(COLOUR.convert("1"), "PNG"),
    "16_bit.png": saved(Image.fromarray(noise(0)[:, :, 0].astype(np.uint16) * 257), "PNG"),
    "cmyk.jpg": saved(COLOUR.convert("CMYK"), "JPEG"),
    "rotated.jpg": rotated(),
    "animated.gif": saved(
        COLOUR,
        "GIF",
        save_all=True,
        append_images=[Image.fromarray(noise(seed)) for seed in (1, 2)],
    ),
    "picture.webp": saved(COLOUR, "WEBP"),
    "picture.tiff": saved(COLOUR, "TIFF"),
}


@pytest.mark.parametrize("name", SORTS)
def test_images_are_decoded_as_torchvision_does(tmp_path, name):
    datasets = load_torchvision("tests").datasets
    (tmp_path / name).write_bytes(SORTS[name])
    expected = datasets.folder.default_loader(tmp_path / name)
    found = open_image(SORTS[name])
    assert found.mode == "RGB"
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


def test_exif_rotation_is_not_applied():
    assert open_image(SORTS["rotated.jpg"]).size == COLOUR.size


def test_reason_has_no_memory_address():
    words = {
        reason_of(OSError(f"cannot identify <BytesIO object at 0x{number:x}>"))
        for number in (1, 255)
    }
    assert words == {"cannot identify <BytesIO object>"}
    assert reason_of(KeyError()) == "KeyError"


def test_content_of_image_includes_its_shape():
    def content(*shape):
        images = np.zeros((1, *shape), dtype=np.uint8)
        label = np.zeros(1, dtype=int)
        items = LabelledItems(
            kind="image", items=("a",), labels=label, classes=("x",), source="test", images=images
        )
        return content_of(items, 0)

    assert content(4, 16) != content(8, 8)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_rejects_image_of_too_many_pixels():
    claimed = bytearray(saved(COLOUR, "BMP"))
    claimed[18:26] = struct.pack("<ii", 10_000, 10_000)  # width and height
    with pytest.raises(
        ValueError, match="has 10000 × 10000 pixels, more than the maximum of 89478485"
    ):
        open_image(bytes(claimed))
