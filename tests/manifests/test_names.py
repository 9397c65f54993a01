"""Names as KernelIndex writes them: slugs, tokens, data types, hardware, ids of workloads; and rounding."""

import hashlib
import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.manifests.normalise import axes_id, dtype, hardware, kebab, round_half_up, token


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Amir M. Mir | SF Tensor", "amir-m-mir-sf-tensor"),
        ("AM I RSI?", "am-i-rsi"),
        ("Proud Wren @ NVIDIA", "proud-wren-nvidia"),
        ("Proud Wren @NVIDIA", "proud-wren-nvidia"),
        ("FlashInfer-Bench", "flashinfer-bench"),
        ("v1.0", "v1-0"),
        ("--a__b--", "a-b"),
        ("Ünïcode 日本 😀", "n-code"),
        ("日本", ""),
        ("x" * 120, "x" * 100),
        ("x" * 99 + " yz", "x" * 99 + "-"),  # First the ends are stripped, then it is cut.
    ],
)
def test_a_slug_is_kebab_case_of_at_most_100_characters(text: str, slug: str) -> None:
    assert kebab(text) == slug


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(("A", "a"), ("hidden_states", "hidden_states"), ("grad.output", "grad_output")),
        *(("2d_mask", "x_2d_mask"), ("_bias", "x__bias"), ("k-cache", "k_cache"), ("α", "x__")),
    ],
)  # fmt: skip
def test_an_argument_s_name_becomes_a_token(name: str, expected: str) -> None:
    assert token(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(("bfloat16", "bf16"), ("float16", "fp16"), ("half", "fp16"), ("float32", "fp32")),
        *(("float", "fp32"), ("float64", "fp64"), ("double", "fp64"), ("BFloat16", "bf16")),
        *(("float8_e4m3fn", "fp8_e4m3"), ("float8_e4m3", "fp8_e4m3")),
        *(("float8_e5m2", "fp8_e5m2"), ("float4_e2m1", "fp4_e2m1"), ("nvfp4", "nvfp4"), ("uint8", "uint8")),
        *(("int8", "int8"), ("int64", "int64"), ("bool", "bool")),
        *(("float4_e2m1fn_x2", "float4_e2m1fn_x2"), ("torch.Int4", "torch_int4")),
    ],
)  # fmt: skip
def test_a_data_type_has_kernelindex_s_name(name: str, expected: str) -> None:
    assert dtype(name) == expected


@pytest.mark.parametrize(
    ("gpu_type", "product", "architecture"),
    [
        ("B200", "NVIDIA B200", "sm_100"),
        ("NVIDIA_B200", "NVIDIA B200", "sm_100"),
        ("GB200", "NVIDIA GB200", "sm_100"),
        ("H200", "NVIDIA H200", "sm_90"),
        ("NVIDIA_H100", "NVIDIA H100", "sm_90"),
        ("A100", "NVIDIA A100", "sm_80"),
        ("RTX_PRO_6000", "RTX PRO 6000", "unknown"),
    ],
)
def test_a_gpu_has_a_product_and_an_architecture(gpu_type: str, product: str, architecture: str) -> None:
    assert hardware(gpu_type) == (product, architecture)


def first_digits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@pytest.mark.parametrize(
    "in_order",
    [
        # As node 20 sorts them with localeCompare.
        '{"K":2048,"M":6,"N":128}',
        '{"_seq":1,"0seq":2,"seq":3,"seq_len":4,"seq_len_q":5,"seq0":6,"seq10":7,"seq2":8,"seqlen":9}',
        '{"batch":1,"Batch_size":2,"BatchSize":3,"c":4,"D":5,"e":6}',
        "{}",
    ],
)
@given(random=st.randoms())
def test_a_workload_s_id_sorts_its_axes_as_locale_compare_does(in_order: str, random: Random) -> None:
    axes = list(json.loads(in_order).items())
    random.shuffle(axes)
    assert axes_id(dict(axes)) == first_digits(in_order)


def test_a_workload_s_id_keeps_the_case_of_its_axes() -> None:
    assert axes_id({"M": 6}) == first_digits('{"M":6}') != axes_id({"m": 6})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((0.5, 1), (1.5, 2), (2.5, 3), (2.4999999999999996, 2), (0.49999999999999994, 0)),
        *((255422.0, 255422), (1e-9, 0), (9007199254740991.0, 9007199254740991)),
        *((4503599627370494.5, 4503599627370495), (4503599627370495.5, 4503599627370496)),
    ],
)  # fmt: skip
def test_halves_are_rounded_up(value: float, expected: int) -> None:
    assert round_half_up(value) == expected
