"""The judge: kernels on the virtual GPU in every mode and with several seeds, and what it found."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

from . import _library
from ._devices import Stream, device as open_device
from ._kernel import Call, Launch
from ._library import check as check_status, lib

MODES = ("friendly", "random", "adversarial")
SEVERITIES = ("error", "warning", "advice")


@dataclass(frozen=True)
class Place:
    """An instruction that a finding is about, and who executed it."""

    file: str
    line: int
    instruction: str
    block: Tuple[int, int, int]
    warp: int
    role: str
    what: str


@dataclass(frozen=True)
class Finding:
    """What the judge found; str() is what `warpmill check` prints."""

    name: str
    severity: str  # error, warning or advice
    message: str
    help: str
    count: int
    places: Tuple[Place, ...]
    text: str
    kernel: str = ""  # whose it is, in a report on several

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Report:
    """Findings, errors first, and what was executed under the judge's eyes."""

    findings: Tuple[Finding, ...]
    runs: int
    instructions: int
    accesses: int
    copies: int
    products: int
    barriers: int

    @property
    def clean(self) -> bool:
        """No error; warnings and advice do not count."""
        return all(finding.severity != "error" for finding in self.findings)

    def __str__(self) -> str:
        counts = [sum(finding.severity == severity for finding in self.findings) for severity in SEVERITIES]
        last = (f"{counts[0]} error{'' if counts[0] == 1 else 's'}, {counts[1]} warning{'' if counts[1] == 1 else 's'}, "
                f"{counts[2]} of advice; {self.runs} run{'' if self.runs == 1 else 's'}")
        return "\n".join([finding.text for finding in self.findings] + [last])


def _words(text: Optional[bytes]) -> str:
    return (text or b"").decode()


def _read(handle: int) -> Report:
    info = _library.ReportInfo()
    check_status(lib.wm_report_info_of(handle, ctypes.byref(info)))
    findings: List[Finding] = []
    for index in range(info.findings):
        own = _library.FindingInfo()
        check_status(lib.wm_report_finding(handle, index, ctypes.byref(own)))
        places = []
        for number in range(own.places):
            at = _library.PlaceInfo()
            check_status(lib.wm_report_place(handle, index, number, ctypes.byref(at)))
            places.append(Place(_words(at.file), at.line, _words(at.instruction), tuple(at.block), at.warp,
                                _words(at.role), _words(at.what)))
        findings.append(Finding(_words(own.name), SEVERITIES[own.severity], _words(own.message), _words(own.help),
                                own.count, tuple(places), _words(own.text)))
    return Report(tuple(findings), info.runs, info.instructions, info.accesses, info.copies, info.products,
                  info.barriers)


def check(what: Union[Launch, Callable[..., Any]], *arguments: Any, modes: Sequence[str] = MODES, seeds: int = 3,
          strict: bool = False, max_instructions: int = 0, device: Any = "virtual") -> Report:
    """Judges a launch, kernel[grid, block], with these arguments; or any function that launches, called with them.

    Each mode (friendly, random, adversarial) is a run, the last two one for each seed. numpy arrays are brought into
    their first state before each run, and stay as they are. strict: warnings are errors. max_instructions: of a run.
    device: a virtual one; what a function launches elsewhere is not judged, and one that launches nothing there is
    refused (ValueError). Of a function that launches several kernels, the last of each run is judged.

    >>> source = 'extern "C" __global__ void race(float* x) { x[0] = threadIdx.x; }'
    >>> report = wm.check(wm.Kernel(source, "race", name="race.cu")[1, 64], np.zeros(1, np.float32))
    >>> report.clean, report.findings[0].places[0].file, report.findings[0].places[0].line
    (False, 'race.cu', 1)
    >>> wm.check(wm.matmul, np.ones((16, 16), np.float32), np.ones((16, 16), np.float32)).clean
    True
    """
    modes = tuple(modes)
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no mode; there are {', '.join(MODES)}")
    target = open_device(device)
    failure: List[BaseException] = []
    if isinstance(what, Launch):
        call = Call(what, arguments, target)
        target = call.device

        def run() -> None:
            call.restore()
            with Stream(target) as stream:
                call.launch(stream)
    else:
        def run() -> None:
            what(*arguments)

    def once(ignored: Any) -> int:
        try:
            run()
            return _library.OK
        except BaseException as error:  # it goes on behind C
            failure.append(error)
            return _library.STOPPED

    request = _library.CheckRequest(seeds=seeds, max_instructions=max_instructions, strict=strict,
                                    **{mode: 1 for mode in modes})
    place = ctypes.c_void_p()
    status = lib.wm_check(target.handle, ctypes.byref(request), _library.CheckRun(once), None, ctypes.byref(place))
    if failure:
        raise failure[0]
    check_status(status)
    try:
        return _read(place.value)  # type: ignore[arg-type]
    finally:
        lib.wm_report_free(place)
