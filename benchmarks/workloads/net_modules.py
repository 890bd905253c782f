"""Convolutional networks with random weights: the layers of those that people use.

This file imports torch; models import it when their module is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn


def conv(inside: int, outside: int, taps: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """With a norm, whose statistics are those of no training."""
    layer = nn.Conv2d(inside, outside, taps, stride, taps // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outside))


# --- ResNet-18 ------------------------------------------------------------------------------------


class Residual(nn.Module):
    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.first, self.second = conv(inside, outside, 3, stride), conv(outside, outside, 3)
        same = inside == outside and stride == 1
        self.past = nn.Identity() if same else conv(inside, outside, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.second(F.relu(self.first(x))) + self.past(x))


def resnet18() -> nn.Module:
    layers: list[nn.Module] = [conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inside = 64
    for outside, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Residual(inside, outside, stride), Residual(outside, outside, 1)]
        inside = outside
    pool = nn.AdaptiveAvgPool2d(1), nn.Flatten()
    return nn.Sequential(*layers, *pool, nn.Linear(512, 1000))


# --- MobileNet-V2 ---------------------------------------------------------------------------------


class Inverted(nn.Module):
    """Wide in the middle, where each channel is convolved by itself."""

    def __init__(self, inside: int, outside: int, stride: int, wider: int) -> None:
        super().__init__()
        wide = inside * wider
        widen = [conv(inside, wide, 1), nn.ReLU6()] if wider > 1 else []
        across = conv(wide, wide, 3, stride, groups=wide), nn.ReLU6()
        self.layers = nn.Sequential(*widen, *across, conv(wide, outside, 1))
        self.adds = stride == 1 and inside == outside

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.adds else self.layers(x)


MOBILE = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
    (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
"""How much wider, channels, blocks, stride of the first."""


def mobilenet_v2() -> nn.Module:
    layers: list[nn.Module] = [conv(3, 32, 3, 2), nn.ReLU6()]
    inside = 32
    for wider, outside, count, stride in MOBILE:
        for number in range(count):
            layers.append(Inverted(inside, outside, 1 if number else stride, wider))
            inside = outside
    layers += [conv(inside, 1280, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(1280, 1000))


# --- U-Net ----------------------------------------------------------------------------------------


def twice(inside: int, outside: int) -> nn.Sequential:
    return nn.Sequential(conv(inside, outside, 3), nn.ReLU(), conv(outside, outside, 3), nn.ReLU())


class UNet(nn.Module):
    """What was halved on the way down is resized on the way up to what it was."""

    def __init__(self, width: int = 32, depth: int = 3) -> None:
        super().__init__()
        widths = [width << level for level in range(depth + 1)]
        pairs = list(pairwise(widths))
        self.start = twice(3, width)
        self.down = nn.ModuleList(twice(*pair) for pair in pairs)
        self.up = nn.ModuleList(twice(a + b, a) for a, b in reversed(pairs))
        self.end = nn.Conv2d(width, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        seen = [self.start(x)]
        for layer in self.down:
            seen.append(layer(F.max_pool2d(seen[-1], 2)))
        found = seen.pop()
        for layer in self.up:
            past = seen.pop()
            wide = F.interpolate(found, size=past.shape[-2:], mode="bilinear")
            found = layer(torch.cat([past, wide], 1))
        return self.end(found)


# --- ConvNeXt-tiny --------------------------------------------------------------------------------


class ChannelNorm(nn.Module):
    """A layer norm over channels that are the second axis."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=1e-6)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNextBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.across = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.mix = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.mix(self.norm(self.across(x).permute(0, 2, 3, 1))).permute(0, 3, 1, 2)


def convnext_tiny() -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(3, 96, 4, 4), ChannelNorm(96)]
    for number, (width, count) in enumerate(zip((96, 192, 384, 768), (3, 3, 9, 3), strict=True)):
        if number:
            layers += [ChannelNorm(width // 2), nn.Conv2d(width // 2, width, 2, 2)]
        layers += [ConvNextBlock(width) for _ in range(count)]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(768), nn.Linear(768, 1000)]
    return nn.Sequential(*layers)


# --- Conv-TasNet ----------------------------------------------------------------------------------


class Dilated(nn.Module):
    def __init__(self, width: int, wide: int, dilation: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(width, wide, 1), nn.PReLU(), nn.GroupNorm(1, wide),
            nn.Conv1d(wide, wide, 3, padding=dilation, dilation=dilation, groups=wide),
            nn.PReLU(), nn.GroupNorm(1, wide), nn.Conv1d(wide, width, 1),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


class ConvTasNet(nn.Module):
    """Sound into frames, a mask for each speaker, and back."""

    def __init__(self, frames: int = 256, width: int = 128, wide: int = 256) -> None:
        super().__init__()
        self.into = nn.Conv1d(1, frames, 16, 8)
        blocks = [Dilated(width, wide, 2**power) for _ in range(2) for power in range(6)]
        start = nn.GroupNorm(1, frames), nn.Conv1d(frames, width, 1)
        self.mask = nn.Sequential(*start, *blocks, nn.PReLU(), nn.Conv1d(width, frames, 1))
        self.back = nn.ConvTranspose1d(frames, 1, 16, 8)

    def forward(self, x: Tensor) -> Tensor:
        found = F.relu(self.into(x))
        return self.back(found * torch.sigmoid(self.mask(found)))


NETS: Mapping[str, Callable[[], nn.Module]] = {
    "ResNet-18": resnet18,
    "MobileNet-V2": mobilenet_v2,
    "U-Net": UNet,
    "ConvNeXt-tiny": convnext_tiny,
    "Conv-TasNet": ConvTasNet,
}


def net(name: str) -> nn.Module:
    torch.manual_seed(0)
    return NETS[name]().eval()
