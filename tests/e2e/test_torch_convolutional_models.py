"""Models of convolutions: regions between them work with channels last, at sizes not captured."""

from typing import Any

import numpy as np
import pytest
import torch

import anyshape as ash

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts

nn: Any = torch.nn


class Block(nn.Module):
    """Two convolutions with batch norms, beside what goes past them."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outside, outside, 3, 1, 1)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outside) for _ in range(3)])
        self.past = nn.Conv2d(inside, outside, 1, stride, bias=False) if stride > 1 else None
        for norm in self.norms:
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2)
            nn.init.normal_(norm.weight)

    def forward(self, x: Any) -> Any:
        inner = self.norms[1](self.second(torch.relu(self.norms[0](self.first(x)))))
        past = x if self.past is None else self.norms[2](self.past(x))
        return torch.relu(inner + past)


class Gate(nn.Module):
    """Channels are scaled by what all places say together."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, 8, 1), nn.Conv2d(8, channels, 1)

    def forward(self, x: Any) -> Any:
        means = x.mean((2, 3), keepdim=True)
        return x * torch.sigmoid(self.up(torch.relu(self.down(means))))


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 7, 2, 3)
        self.blocks = nn.Sequential(Block(16, 16, 1), Block(16, 32, 2))
        self.gate, self.deep = Gate(32), nn.Conv2d(32, 32, 5, padding=2, groups=32)
        self.both, self.last = nn.Conv2d(64, 32, 3, padding=1), nn.Linear(32, 10)

    def forward(self, image: Any) -> Any:
        stem = nn.functional.max_pool2d(torch.relu(self.stem(image)), 3, 2, 1)
        x = self.blocks(stem)
        y = self.deep(self.gate(x)) + x
        z = self.both(nn.functional.silu(torch.cat([x, y], 1)))
        return self.last(z.mean((2, 3)))


class UpAndDown(nn.Module):
    """What was made smaller is made larger again, and put beside what it was made of."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.down = nn.Conv2d(3, 12, 3, padding=1), nn.Conv2d(12, 24, 2, 2)
        self.up, self.last = nn.ConvTranspose2d(24, 12, 2, 2), nn.Conv2d(24, 5, 1)

    def forward(self, image: Any) -> Any:
        x = nn.functional.gelu(self.first(image))
        small = nn.functional.avg_pool2d(nn.functional.pad(self.down(x), (1, 1, 1, 1)), 3, 1)
        up = self.up(torch.relu(small))
        cut = x[:, :, : up.shape[2], : up.shape[3]]
        return self.last(torch.cat([cut, up], 1))


def compiled_and_compared(model: Any, sizes: list[tuple[int, ...]]) -> Any:
    torch.manual_seed(0)
    model = model.eval()
    axes = {"image": ("n", None, "h", "w")}
    fast = ash.compile(model, (torch.randn(2, 3, *sizes[0]),), axes=axes)
    with torch.no_grad():
        for number, size in enumerate(sizes):
            x = torch.randn(number % 3, 3, *size)
            torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-4)
    return fast


def transposes(fast: Any) -> int:
    return fast.executable.as_text().count("transpose(")


def test_a_pool_of_the_whole_image_keeps_the_order() -> None:
    """Both axes at once: one after the other, places between them would be transposed."""
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 40, 3), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    model = nn.Sequential(*layers, nn.Linear(40, 7)).eval()
    fast = ash.compile(model, (torch.randn(2, 3, 9, 8),), axes={"input": ("batch", 3, "h", "w")})
    assert transposes(fast) == 1, "only the image is transposed"
    for sizes in ((1, 5, 4), (3, 33, 70), (2, 3, 3)):
        x = torch.randn(sizes[0], 3, *sizes[1:])
        torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)


def test_residual_blocks() -> None:
    sizes = [(37, 29), (64, 64), (31, 91), (7, 8), (53, 17)]
    fast = compiled_and_compared(Residual(), sizes)
    assert transposes(fast) == 1, "only the image is transposed"


def test_up_and_down() -> None:
    compiled_and_compared(UpAndDown(), [(36, 28), (7, 9), (31, 90), (2, 3)])


@pytest.mark.parametrize("samples", [1, 2, 63, 1009, 20011])
def test_norms_of_all_channels_are_done_as_convolutions_lie(samples: int) -> None:
    """Of sounds: short ones are a row each, long ones go in parts."""
    torch.manual_seed(0)
    norms = nn.GroupNorm(1, 24), nn.GroupNorm(1, 24)
    for norm in norms:
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
    net = nn.Sequential(
        nn.Conv1d(5, 24, 1), nn.PReLU(), norms[0], nn.Conv1d(24, 24, 3, padding=1, groups=24),
        nn.PReLU(), norms[1], nn.Conv1d(24, 7, 1),
    ).eval()  # fmt: skip
    fast = ash.compile(net, (torch.randn(2, 5, 20),), axes={"input": ("batch", None, "samples")})
    assert transposes(fast) == 2, "the sound and the result"
    for batch in (1, 3):
        x = torch.randn(batch, 5, samples)
        with torch.no_grad():
            torch.testing.assert_close(fast(x), net(x), rtol=1e-4, atol=2e-5)


def test_channels_last_in_memory() -> None:
    torch.manual_seed(0)
    layer = torch.nn.Conv2d(3, 8, 3, padding=1).eval()
    fast = ash.compile(layer, (torch.randn(2, 3, 9, 8),), axes={"input": ("n", None, "h", "w")})
    with torch.no_grad():
        for size in ((1, 3, 7, 5), (3, 3, 31, 2)):
            x = torch.randn(size).to(memory_format=torch.channels_last)
            torch.testing.assert_close(fast(x), layer(x), rtol=1e-4, atol=1e-4)


# --- operands that are no values of convolutions --------------------------------------------------


class WithMore(nn.Module):
    """A convolution, and what `rest` makes of its result and its input."""

    def __init__(self, rest: Any, more: Any) -> None:
        super().__init__()
        self.conv, self.rest = nn.Conv2d(4, 8, 3, padding=1), rest
        self.more = nn.Parameter(more)

    def forward(self, image: Any) -> Any:
        return self.rest(self.conv(image), image, self.more)


def axis_in_front(y: Any, image: Any, more: Any) -> Any:
    return y * more


def beside_means(y: Any, image: Any, more: Any) -> Any:
    means = image.mean((2, 3), keepdim=True)
    return torch.cat([y, means.expand(-1, -1, *image.shape[2:])], 1)


def beside_a_constant(y: Any, image: Any, more: Any) -> Any:
    return torch.cat([y, more.expand(image.shape[0], -1, *image.shape[2:])], 1)


@pytest.mark.parametrize("places", [("h", "w"), (None, None)], ids=str)
@pytest.mark.parametrize(
    ("rest", "shape"),
    [(axis_in_front, (5, 1, 1, 1, 1)), (beside_means, (1,)), (beside_a_constant, (1, 3, 1, 1))],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_operands_of_other_shapes(rest: Any, shape: tuple[int, ...], places: Any) -> None:
    torch.manual_seed(0)
    model = WithMore(rest, torch.randn(shape)).eval()
    fast = ash.compile(model, (torch.randn(2, 4, 8, 8),), axes={"image": ("n", None, *places)})
    with torch.no_grad():
        for size in [(8, 8), (1, 1), (5, 7)] if places[0] else [(8, 8)]:
            x = torch.randn(3, 4, *size)
            torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-4)


def test_scales_of_narrow_weights_do_not_overflow() -> None:
    """Weights times scales are larger than an f16 holds, results are not."""
    weights, scales = np.full((1, 3, 4, 4), 100, np.float16), np.full(4, 1000, np.float16)

    @ash.jit
    def scaled(x: ash.f16["b", "t", 4]) -> Any:
        return ash.conv(x, weights) * scales

    (found,) = ash.compile(scaled)(np.full((2, 5, 4), 1e-3, np.float16))
    np.testing.assert_allclose(found, np.full((2, 3, 4), 1200), rtol=1e-2)
