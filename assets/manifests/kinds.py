"""The eight kinds of KernelIndex manifests: what may stand in each, and nothing else.

Typed dictionaries, so that a manifest is plain data and an absent field is absent; pydantic holds them
to it strictly (an unknown field, a null, a number as a string: each is an error). How they are filled
belongs in `normalise`, how they are named in `identity`. The rules are those of DESIGN §4 and of the
manifests in the seeds.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from assets.manifests.identity import Manifest, Pattern, canonical_json, name_manifest

Token = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)]
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Text = Annotated[str, Field(min_length=1)]
# Beyond 2**53 - 1 RFC 8785 has no form for an integer.
Integer = Annotated[int, Field(ge=-(2**53) + 1, le=2**53 - 1)]
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
Real = Annotated[float, Field(allow_inf_nan=False)]

_strict = with_config(ConfigDict(strict=True, extra="forbid"))


@_strict
class Metadata(TypedDict):
    """What people read; it never counts for a digest."""

    name: Slug
    title: NotRequired[Text]
    labels: NotRequired[dict[str, Text]]


@_strict
class ConstantAxis(TypedDict):
    """An axis with one value for all workloads."""

    role: Literal["constant"]
    type: Literal["integer"]
    value: Integer


@_strict
class DerivedAxis(TypedDict):
    """An axis computed from others."""

    role: Literal["derived"]
    type: Literal["integer"]
    expression: Text


@_strict
class VariableAxis(TypedDict):
    """An axis whose value each workload says."""

    role: Literal["variable"]
    type: Literal["integer"]


Axis = Annotated[ConstantAxis | DerivedAxis | VariableAxis, Field(discriminator="role")]


@_strict
class SymbolicTensor(TypedDict):
    """A tensor whose shape is made of numbers and names of axes."""

    shape: list[Count | Token]
    dtype: Token


@_strict
class Scalar(TypedDict):
    """A value without a shape."""

    dtype: Token


@_strict
class TensorArgument(TypedDict):
    """An argument that is a tensor."""

    name: Token
    tensor: SymbolicTensor


@_strict
class ScalarArgument(TypedDict):
    """An argument that is a scalar."""

    name: Token
    scalar: Scalar


Argument = TensorArgument | ScalarArgument


@_strict
class Semantics(TypedDict):
    """What the source does not say of an operation."""

    mutation: Literal["none"]
    determinism: Literal["unspecified"]


@_strict
class OperationSpec(TypedDict):
    """What a kernel computes."""

    family: Slug
    axes: dict[Token, Axis]
    inputs: list[Argument]
    outputs: list[Argument]
    semantics: Semantics


@_strict
class Tensor(TypedDict):
    """A tensor of a workload: every entry of its shape a number."""

    shape: list[Count]
    dtype: Token


@_strict
class Correctness(TypedDict):
    """What a result is held to."""

    comparator: Literal["sol_execbench_eval"]
    description: NotRequired[Text]


@_strict
class WorkloadCase(TypedDict):
    """One set of axes to run an operation on."""

    operationSpecDigest: Digest
    axes: dict[Token, Integer]
    tensors: dict[Token, Tensor]
    correctness: Correctness


@_strict
class SuiteCase(TypedDict):
    """A case within a suite."""

    externalId: Text
    axes: dict[Token, Integer]


@_strict
class Aggregation(TypedDict):
    """How one value is made of a suite's cases."""

    metric: Literal["latency"]
    statistic: Literal["mean"]


@_strict
class WorkloadSuite(TypedDict):
    """All cases of an operation, in the source's order."""

    operationSpecDigest: Digest
    cases: Annotated[list[SuiteCase], Field(min_length=1)]
    correctness: Correctness
    aggregation: Aggregation


@_strict
class Host(TypedDict):
    """Where a project is at home."""

    kind: Literal["other"]
    id: Text


@_strict
class SoftwareProject(TypedDict):
    """Whose implementations these are: an account of the leaderboard."""

    name: Text
    kind: Literal["individual"]
    host: Host


@_strict
class ProjectRevision(TypedDict):
    """Which state of a project."""

    version: Text


@_strict
class ImplementedOperation(TypedDict):
    """Which operation is implemented."""

    specDigest: Digest


@_strict
class Callable(TypedDict):
    """How an implementation is called."""

    language: Literal["unknown"]


@_strict
class Support(TypedDict):
    """What an implementation is known to run on."""

    hardwareArchitectures: list[Token]
    productsTested: list[Text]
    dtypes: list[Token]


@_strict
class Licensing(TypedDict):
    """Nothing: the source does not say."""


@_strict
class ImplementationRevision(TypedDict):
    """What one submission submitted."""

    projectRevision: ProjectRevision
    operation: ImplementedOperation
    callable: Callable
    support: Support
    licensing: Licensing


@_strict
class Harness(TypedDict):
    """What measures."""

    name: Text
    version: Text


@_strict
class ProtocolCorrectness(TypedDict):
    """What results are compared with, and by what."""

    reference: Text
    comparator: Literal["sol_execbench_eval"]


@_strict
class Measurement(TypedDict):
    """What is measured."""

    timer: Literal["harness_reported"]
    primaryStatistic: Literal["mean"]


@_strict
class Comparability(TypedDict):
    """Which runs may be compared."""

    family: Token
    notes: Text


@_strict
class BenchmarkProtocol(TypedDict):
    """How runs are measured."""

    harness: Harness
    correctness: ProtocolCorrectness
    measurement: Measurement
    comparability: Comparability


@_strict
class Hardware(TypedDict):
    """The GPU."""

    vendor: Token
    product: Text
    architecture: Token


@_strict
class Software(TypedDict):
    """Versions of what runs."""

    libraries: dict[Token, Text]


@_strict
class ExecutionEnvironment(TypedDict):
    """What runs are measured on."""

    hardware: Hardware
    software: Software


@_strict
class LatencyNs(TypedDict):
    """A latency in nanoseconds."""

    mean: Count


@_strict
class Timing(TypedDict):
    """What was measured."""

    primaryStatistic: Literal["mean"]
    latencyNs: LatencyNs


@_strict
class Metrics(TypedDict):
    """The source's own numbers, those that are there."""

    latency_ms: NotRequired[Real]
    sol_score: NotRequired[Real]
    avg_speedup: NotRequired[Real]
    fast_1_count: NotRequired[Count]
    fast_1_total: NotRequired[Count]


@_strict
class SourceNative(TypedDict):
    """What the source itself says of a run."""

    source: Literal["sol-execbench"]
    benchmark: Text
    externalId: Text
    metrics: Metrics


@_strict
class BenchmarkRun(TypedDict):
    """One implementation, measured on one workload."""

    implementationDigest: Digest
    workloadDigest: Digest
    protocolDigest: Digest
    environmentDigest: Digest
    status: Literal["passed"]
    timing: Timing
    sourceNative: SourceNative
    observedAt: NotRequired[Annotated[str, Field(pattern=r"^\d{4}(-\d\d){2}T\d\d(:\d\d){2}\.\d{3}Z$")]]


_METADATA = TypeAdapter(Metadata).validator
_SPECS = {
    kind.__name__: TypeAdapter(kind).validator
    for kind in (
        OperationSpec,
        WorkloadCase,
        WorkloadSuite,
        SoftwareProject,
        ImplementationRevision,
        BenchmarkProtocol,
        ExecutionEnvironment,
        BenchmarkRun,
    )
}


def build(kind: str, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Manifest:
    """Hold metadata and spec to the kind's model, and name them by their digest.

    Raises pydantic's ValidationError for what the model does not take, NotCanonical for what has no
    canonical JSON.
    """
    _METADATA.validate_python(metadata)
    _SPECS[kind].validate_python(spec)
    return name_manifest(kind, metadata, canonical_json(spec))


def pattern(kind: str, spec: Mapping[str, Any], *examples: Any) -> Pattern:
    """Hold an example of a spec to the kind's model, and make a pattern of it.

    What then fills the places must be as the examples are. Raises as `build` does.
    """
    _SPECS[kind].validate_python(spec)
    return Pattern(kind, spec, examples)
