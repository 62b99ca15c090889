"""The source image of the golden files of src/image; tests/image/image_formula.c has the
same formula."""
from PIL import Image


def pixel(x, y, c):
    """Smooth parts, edges, and noise."""
    v = (x * 7 + y * 13 + c * 50) & 255
    if (x // 5 + y // 3) % 2:
        v = 255 - v
    if (x * 31 + y * 17 + c * 7) % 11 == 0:
        v = (x * x * 3 + y * y * 5 + c * 101) & 255
    return v


def formula_image(w, h):
    data = bytes(pixel(x, y, c) for y in range(h) for x in range(w) for c in range(3))
    return Image.frombytes("RGB", (w, h), data)
