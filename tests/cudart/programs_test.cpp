// `warpmill run PROGRAM` and `warpmill check PROGRAM`, as a user starts them.
#include <algorithm>
#include <csignal>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string host = WARPMILL_HOST_PROGRAM, driver = WARPMILL_DRIVER_PROGRAM;

class Programs : public Program {};

TEST_F(Programs, AProgramRunsAndEndsWithItsOwnStatus) {
  const Ended ended = start("run " + host + " add");
  EXPECT_EQ(ended.status, 3);
  EXPECT_EQ(ended.out,
            "malloc: cudaSuccess\nupload: cudaSuccess\nlaunch: cudaSuccess\ncount up: cudaSuccess\n"
            "download: cudaSuccess\nsymbol: cudaSuccess\nfree: cudaSuccess\nfree again: cudaErrorInvalidValue\n"
            "1 1000 8\n");
  EXPECT_EQ(ended.err, "");
}

TEST_F(Programs, AFaultAppearsWhereItIsWaitedForAndStays) {
  const Ended ended = start("run " + host + " fault");
  EXPECT_EQ(ended.out,
            "malloc: cudaSuccess\nlaunch: cudaSuccess\nafter the launch: cudaSuccess\n"
            "callback: cudaErrorIllegalAddress\nwait: cudaErrorIllegalAddress\n"
            "malloc: cudaErrorIllegalAddress\n");
  EXPECT_THAT(ended.err, HasSubstr("past the end of an allocation of 400 bytes"));
  EXPECT_EQ(ended.status, 0);
}

TEST_F(Programs, MisuseGetsTheCodesOfACard) {
  const Ended ended = start("run " + host + " misuse");
  EXPECT_EQ(ended.out,
            "malloc: cudaSuccess\nno threads: cudaErrorInvalidValue\n"
            "too many threads: cudaErrorInvalidValue\ntoo much shared memory: cudaErrorInvalidValue\n"
            "no kernel: cudaErrorInvalidResourceHandle\nbeyond the end: cudaErrorInvalidValue\n"
            "a stack pointer as device memory: cudaErrorInvalidValue\ntoo much: cudaErrorMemoryAllocation\n"
            "rows beyond all numbers: cudaErrorMemoryAllocation\nslices beyond all numbers: cudaErrorMemoryAllocation\n"
            "no such device: cudaErrorInvalidDevice\nlast: cudaErrorInvalidDevice\nthen: cudaSuccess\n"
            "not there: cudaErrorNotSupported\nnor there: 801\nwhich is not the runtime's: cudaSuccess\n");
  EXPECT_EQ(ended.err,
            "warpmill: launch of `nothing` refused: the block is 0x1x1; it has 1 to 1024 threads and 64 along z at "
            "most\n"
            "warpmill: launch of `nothing` refused: the block is 2048x1x1; it has 1 to 1024 threads and 64 along z at "
            "most\n"
            "warpmill: launch of `nothing` refused: it asks for 100000 bytes of dynamic shared memory, and the kernel "
            "may have 49152: set its attribute MaxDynamicSharedMemorySize first\n"
            "warpmill: cudaDestroyTextureObject is not there on the virtual GPU: cudaErrorNotSupported\n"
            "warpmill: cuTexObjectDestroy is not there on the virtual GPU: CUDA_ERROR_NOT_SUPPORTED\n");
}

TEST_F(Programs, SharedMemoryIsCountedAsACardCountsIt) {
  const Ended ended = start("run " + host + " shared");
  EXPECT_EQ(ended.out,
            "with its own: cudaSuccess\nbeside its own: cudaErrorInvalidValue\n49148\nset: cudaSuccess\n"
            "beside its own: cudaSuccess\n49152\nmore: cudaErrorInvalidValue\nwait: cudaSuccess\n");
  EXPECT_THAT(ended.err, HasSubstr("it asks for 49152 bytes of dynamic shared memory, and the kernel may have 49148"));
  EXPECT_THAT(ended.err, HasSubstr("it asks for 49156 bytes of dynamic shared memory, and the kernel may have 49152"));
}

TEST_F(Programs, AKernelThatCannotRunIsNamedOnceAndCountedAsAnError) {
  const std::string output = "launch: cudaErrorNotSupported\nagain: cudaErrorNotSupported\nanother: cudaSuccess\n";
  const std::string why =
      "module.ptx:57 (picture.cu:12): `tex.1d.v4.s32.s32` is not supported: textures and surfaces are not supported";
  const Ended ran = start("run " + host + " refused");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, output);
  EXPECT_EQ(ran.err, "warpmill: `picture` cannot run here: " + why + "\n");
  const std::string file = (folder_ / "report.json").string();
  const Ended judged = start("check --json " + file + " " + host + " refused");
  EXPECT_EQ(judged.status, 1);
  EXPECT_THAT(judged.out, HasSubstr("error[refused]: it cannot run here: " + why + "\npicture: 1 error"));
  EXPECT_EQ(nlohmann::json::parse(wm::cases::read_text(file))["kernels"][0]["refused"], why);
  EXPECT_EQ(start("check --skip-kernel picture " + host + " refused").status, 0);
}

TEST_F(Programs, WhatIsNotThereIsNamedOnceAndNotSupported) {
  const Ended ended = start("run " + driver + " missing");
  EXPECT_EQ(ended.out,
            "texture: cudaErrorNotSupported\nagain: cudaErrorNotSupported\nsurface: cudaErrorNotSupported\n"
            "memory of another process: cudaErrorNotSupported\nevent of another process: cudaErrorNotSupported\n"
            "external memory: cudaErrorNotSupported\nlast: cudaErrorNotSupported\n"
            "addresses: CUDA_ERROR_NOT_SUPPORTED\npages: CUDA_ERROR_NOT_SUPPORTED\n");
  std::string lines;
  for (const char* name : {"cudaCreateTextureObject", "cudaCreateSurfaceObject", "cudaIpcGetMemHandle",
                           "cudaIpcGetEventHandle", "cudaImportExternalMemory", "cuMemAddressReserve", "cuMemCreate"})
    lines += std::string("warpmill: ") + name + " is not there on the virtual GPU: " +
             (name[2] == 'd' ? "cudaErrorNotSupported\n" : "CUDA_ERROR_NOT_SUPPORTED\n");
  EXPECT_EQ(ended.err, lines);
}

TEST_F(Programs, ArraysThatNoChipHasAreRefused) {
  EXPECT_EQ(start("run " + driver + " arrays").out,
            "too wide: cudaErrorInvalidValue\ntoo high: cudaErrorInvalidValue\ntoo deep: cudaErrorInvalidValue\n"
            "of nothing: cudaErrorInvalidChannelDescriptor\nof odd elements: cudaErrorInvalidChannelDescriptor\n"
            "usual: cudaSuccess\nfree: cudaSuccess\n");
}

TEST_F(Programs, HostMemoryIsUnregisteredWhenItsUsersAreDone) {
  EXPECT_EQ(start("run " + driver + " unregistered").out, "unregister: CUDA_SUCCESS\n12\nwait: CUDA_SUCCESS\n");
}

TEST_F(Programs, PoolsPointersAndOccupancyAreAnswered) {
  const Ended ended = start("run --device virtual:sm_90a:sms=10 " + driver + " asked");
  EXPECT_EQ(ended.out,
            "pool: CUDA_SUCCESS\ndefault: CUDA_SUCCESS\nthe same: 1\ncreate: CUDA_SUCCESS\nallocate: CUDA_SUCCESS\n"
            "too much: CUDA_ERROR_OUT_OF_MEMORY\nthreshold: CUDA_SUCCESS\nused: CUDA_SUCCESS\n1\n"
            "attributes: CUDA_SUCCESS\n2 0 1000 0\nof the host: CUDA_SUCCESS\n0 -2 0 0\n"
            "one of the host: CUDA_ERROR_INVALID_VALUE\nregister everything: CUDA_ERROR_INVALID_VALUE\n"
            "free: CUDA_SUCCESS\ndestroy: CUDA_SUCCESS\nclusters: CUDA_SUCCESS\nlargest: CUDA_SUCCESS\n"
            "left: CUDA_SUCCESS\n2 10 8 49152\n");
}

TEST_F(Programs, OneEventIsRecordedByManyThreads) { EXPECT_EQ(start("run " + driver + " records").out, "wrong: 0\n"); }

TEST_F(Programs, TheDriverSaysWhereACapturedStreamStands) {
  const Ended ended = start("run " + driver + " captured");
  EXPECT_EQ(ended.out,
            "context: CUDA_SUCCESS\nthe current one: 1\n"
            "outside: CUDA_SUCCESS\n0, capture 0, graph 0, 0 before\n"
            "begun: CUDA_SUCCESS\n1, capture 1, graph 1, 0 before\n"
            "kernel: CUDA_SUCCESS\n1, capture 1, graph 1, 1 before, a kernel\n"
            "again: CUDA_SUCCESS\n1, capture 1, graph 1, 1 before, the same\n"
            "fill: CUDA_SUCCESS\n1, capture 1, graph 1, 1 before, a fill\n"
            "end: CUDA_SUCCESS\n"
            "ended: CUDA_SUCCESS\n0, capture 0, graph 0, 0 before\n");
  EXPECT_EQ(ended.err, "");
}

TEST_F(Programs, TheDriversGraphsAreBuiltChangedAndRun) {
  EXPECT_EQ(start("run " + driver + " graph").out,
            "fill: CUDA_SUCCESS\nkernel: CUDA_SUCCESS\ncopy: CUDA_SUCCESS\ncall: CUDA_SUCCESS\n"
            "a kernel as a fill: CUDA_ERROR_INVALID_VALUE\ninstantiate: CUDA_SUCCESS\n13\nchange: CUDA_SUCCESS\n"
            "wait: CUDA_SUCCESS\n40, 2 calls, the graph's own 3 of the same function 1\n"
            "last of the runtime's: cudaSuccess\n");
}

TEST_F(Programs, NamesMeanWhatTheyMeantInTheVersionAskedFor) {
  EXPECT_EQ(start("run " + driver + " versions").out,
            "0 2 1\n0 2 1\n0 0 1\n0 0 1\n3 functions\nnonsense: CUDA_SUCCESS\nits kernel: CUDA_ERROR_INVALID_PTX\n"
            "a place to meet: 0 alone, 1 together\n");
}

TEST_F(Programs, ADestroyedContextIsRefusedWhereItIsStillInTheStack) {
  EXPECT_EQ(start("run " + host + " context").out, "destroy: 0\ntop: 0\ndestroyed: 709\npop: 0\nthe same\n");
}

TEST_F(Programs, WhatAHostFunctionThrowsIsAFault) {
  EXPECT_EQ(start("run " + host + " throw").out, "thrown: cudaErrorUnknown\n");
}

TEST_F(Programs, CompressedPtxThatCannotBeReadIsToldOnce) {
  const Ended ended = start("run " + host + " unreadable");
  EXPECT_EQ(ended.out, "launch: cudaErrorNoKernelImageForDevice\nlaunch: cudaErrorNoKernelImageForDevice\n");
  EXPECT_THAT(ended.err, StartsWith("warpmill: the program's PTX is compressed"));
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1);
}

TEST_F(Programs, MemoryThatAllDevicesSeeIsFreedWhenAllAreDone) {
  EXPECT_EQ(start("run --devices 2 " + host + " free").out,
            "free: cudaSuccess\nused: cudaSuccess\nwait: cudaSuccess\n");
}

TEST_F(Programs, StreamsRunBesideTheHostAndEachOther) {
  const Ended ended = start("run " + host + " overlap");
  EXPECT_EQ(ended.out,
            "waits: cudaSuccess\nquery: cudaErrorNotReady\nother stream: cudaSuccess\nstream: cudaSuccess\n");
}

TEST_F(Programs, WaitsIncludeOtherStreamsEventsAndTheWorkOfDestroyedStreams) {
  const Ended ended = start("run " + host + " order");
  EXPECT_EQ(ended.out,
            "wait: cudaSuccess\nquery: cudaErrorNotReady\nsecond: cudaSuccess\nevent: cudaSuccess\n"
            "destroy: cudaSuccess\nagain: cudaErrorInvalidResourceHandle\nlaunch: cudaErrorInvalidResourceHandle\n"
            "device: cudaSuccess\n1\n");
}

TEST_F(Programs, TensorMapsInTheHardwaresFormAreReadAndTheirMistakesNamed) {
  const std::string program = driver + " hardware_map ", u32 = "2", none = "14";
  const Ended judged = start("check " + program + u32);
  EXPECT_THAT(judged.out, StartsWith("fetch: CUDA_SUCCESS\n2 3 5 7\n"));
  EXPECT_EQ(judged.status, 0);
  const Ended wrong = start("run " + program + none);
  EXPECT_EQ(wrong.out, "fetch: CUDA_ERROR_ILLEGAL_INSTRUCTION\n0 0 0 0\n");
  EXPECT_THAT(wrong.err, HasSubstr("element type 14, which does not exist"));
}

TEST_F(Programs, ForksAndThreadsBehave) {
  const Ended ended = start("check " + host + " fork");
  EXPECT_THAT(ended.out, HasSubstr("1 1000 8\n"));
  EXPECT_THAT(ended.out, HasSubstr("in a child: cudaErrorInitializationError\n"));
  EXPECT_EQ(start("run " + host + " threads").out, "1111\n");
}

TEST_F(Programs, TheJudgeReportsPerKernelAfterTheProgramsOwnOutput) {
  const Ended ended = start("check --json " + (folder_ / "report.json").string() + " " + host + " race");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.out, StartsWith("race: cudaSuccess\nerror[shared-race]"));
  EXPECT_THAT(ended.out, HasSubstr("race: 1 error, 0 warnings, 0 of advice; 1 launch, 1 judged"));
  EXPECT_THAT(ended.out, HasSubstr("nothing: 0 errors, 0 warnings, 0 of advice; 1 launch, 1 judged"));
  const auto report = nlohmann::json::parse(wm::cases::read_text(folder_ / "report.json"));
  EXPECT_EQ(report["kernels"][0]["findings"][0]["name"], "shared-race");
  EXPECT_EQ(report["status"], 0);
  EXPECT_TRUE(report["signal"].is_null());
}

TEST_F(Programs, OnlyWhatIsAskedForIsJudged) {
  EXPECT_EQ(start("check --skip-kernel race " + host + " race").status, 0);
  EXPECT_EQ(start("check --kernel 'no*' " + host + " race").status, 0);
  EXPECT_EQ(start("check --skip 1 " + host + " race").status, 0);
  EXPECT_EQ(start("check --count 1 --mode random --seeds 2 " + host + " race").status, 1);
  EXPECT_THAT(start("check --kernel rac " + host + " race").out,
              HasSubstr("nothing: 0 errors, 0 warnings, 0 of advice; 1 launch, 0 judged"));
}

TEST_F(Programs, AReportThatCannotBeWrittenIsSaidBeforeTheStartAndLosesNoWords) {
  const Ended nowhere = start("check --json " + (folder_ / "no/report.json").string() + " " + host + " race");
  EXPECT_EQ(nowhere.status, 2);
  EXPECT_EQ(nowhere.out, "");
  EXPECT_THAT(nowhere.err, HasSubstr("cannot write"));
  const Ended full = start("check --json /dev/full " + host + " race");
  EXPECT_EQ(full.status, 2);
  EXPECT_THAT(full.out, HasSubstr("error[shared-race]"));
  EXPECT_THAT(full.err, HasSubstr("cannot write /dev/full"));
}

TEST_F(Programs, AStatusAbove128IsNoSignal) {
  const Ended ended = start("check -- sh -c 'exit 200'");
  EXPECT_EQ(ended.status, 200);
  EXPECT_THAT(ended.out, HasSubstr("it ended with 200"));
}

TEST_F(Programs, WhoeverIgnoresItsChildrenStillLearnsHowTheProgramEnded) {
  EXPECT_EQ(start("run -- sh -c 'exit 5'", "timeout -s KILL 30 env --ignore-signal=CHLD").status, 5);
}

TEST_F(Programs, ACrashKeepsTheFindings) {
  const std::string file = (folder_ / "report.json").string();
  const Ended ended = start("check --json " + file + " " + host + " crash");
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.out, HasSubstr("error[shared-race]"));
  EXPECT_THAT(ended.out, HasSubstr("signal 6"));
  const auto report = nlohmann::json::parse(wm::cases::read_text(file));
  EXPECT_TRUE(report["status"].is_null());
  EXPECT_EQ(report["signal"], SIGABRT);
}

TEST_F(Programs, CtrlCEndsWithTheFindingsSoFar) {
  const Ended ended = start("check " + host + " forever", "timeout --preserve-status -s INT 3 env");
  EXPECT_EQ(ended.status, 128 + SIGINT);
  EXPECT_THAT(ended.out, HasSubstr("error[shared-race]"));
  EXPECT_THAT(ended.out, HasSubstr("await: 0 errors, 0 warnings, 0 of advice; 1 launch, 1 judged"));
  EXPECT_THAT(ended.out, Not(HasSubstr("never")));
}

TEST_F(Programs, WhatIsNoCudaProgramIsLeftAlone) {
  EXPECT_EQ(start("run -- sh -c 'exit 5'").status, 5);
  const Ended ended = start("check " + host + " none");
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.out, HasSubstr("no kernel was launched"));
  const Ended missing = start("run -- ./nowhere");
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("cannot start ./nowhere"));
}

TEST_F(Programs, LaunchesAndLargeModulesCostLittle) {
  EXPECT_EQ(start("run " + host + " tiny 20000").out, "tiny: cudaSuccess\n");
  EXPECT_EQ(start("run " + host + " large 15").status, 0);  // seconds would mean that all of it was read
}

TEST_F(Programs, OptionsThatThereAreNotAreNamed) {
  const Ended ended = start("run --kernel x " + host + " none");
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("there is no option '--kernel' for a program"));
  EXPECT_THAT(start("check --seeds=none " + host + " none").err, HasSubstr("'none' is no whole number"));
}

TEST_F(Programs, DevicesAreAskedFor) {
  const Ended ended = start("run --devices 8 " + host + " misuse");
  EXPECT_THAT(ended.out, HasSubstr("no such device: cudaSuccess"));
  EXPECT_THAT(start("run --devices 8 " + host + " misuse", "CUDA_VISIBLE_DEVICES=0,1").out,
              HasSubstr("no such device: cudaErrorInvalidDevice"));
}

}  // namespace
