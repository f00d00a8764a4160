// Programs that compile and link at run time: what would make machine code makes PTX.
#include <nvrtc.h>

#include "cli/program.hpp"
#include "jit/nvrtc.hpp"

namespace {

using testing::HasSubstr;

const std::string program = WARPMILL_COMPILER_PROGRAM, library = WARPMILL_COMPILER_LIBRARY;

class Compilers : public Program {};

TEST_F(Compilers, NvrtcHandsOutPtxForMachineCode) {
  const Ended ended = start("check " + program + " nvrtc " + wm::jit::nvrtc().path.string());
  EXPECT_THAT(ended.out, testing::StartsWith("0 0 0: 42\nfill: 0 errors")) << ended.err;
  EXPECT_EQ(ended.err, "");
}

TEST_F(Compilers, TheDriverLinksTextsThatNeedEachOther) {
  // 1 + 100 + 7 of the second text, twice 10 by the first one's weak function, and 5.
  const Ended ended = start("run " + program + " link");
  EXPECT_EQ(ended.out, "create: 0\nadd: 0\nadd: 0\ncomplete: 0 \n0 0 0: 133\ndestroy: 0, again: 400\n") << ended.err;
  const Ended twice = start("run " + program + " link_twice");
  EXPECT_EQ(twice.out,
            "create: 0\nadd: 0\nadd: 0\ncomplete: 218 warpmill: first and second both define `common_word`\n"
            "destroy: 0, again: 400\n");
}

TEST_F(Compilers, NvJitLinkLinksTextsAndHandsOutPtx) {
  const Ended ended = start("run " + program + " jit_link " + library);
  EXPECT_EQ(ended.out, "create: 0\nadd: 0\nadd: 0\ncomplete: 0\n0 0 0: 133\ndestroy: 0\n") << ended.err;
  EXPECT_THAT(start("run " + program + " jit_link_machine_code " + library).out,
              HasSubstr("add: 3\ncomplete: 4\na text is machine code; the virtual GPU links PTX: give the linker that\n"
                        "there is nothing to link\n"));
}

TEST_F(Compilers, CodeForOptimisationAtLinkTimeIsOptimisedByTheLibraryItself) {
  const std::string linker = WARPMILL_NVJITLINK;
  if (linker.empty()) return;  // of the toolkit, where there is one
  const std::string nvrtc = wm::jit::nvrtc().path.string();
  const Ended ended = start("run " + program + " optimised " + nvrtc + " " + linker);
  EXPECT_EQ(ended.out, "create: 0\nadd: 0\ncomplete: 0\n0 0 0: 42\ndestroy: 0\n") << ended.err;
}

TEST_F(Compilers, AStaticRuntimeThatIsExportedByAnotherNameIsRedirected) {
  EXPECT_EQ(start("run --devices 3 " + program + " exported " + library).out, "0 3\n");
}

TEST_F(Compilers, ARuntimeOfAnotherVersionIsLeftAlone) {
  const std::string other = (folder_.path() / "libcudart.so.12").string();
  std::filesystem::copy_file(library, other);
  const Ended ended = start("run " + program + " exported " + other);
  EXPECT_EQ(ended.out, "99 -1\n");
  EXPECT_THAT(ended.err, HasSubstr("libcudart.so.12 is not of CUDA 13, and is left alone"));
}

// By stand-ins for cuda-python, CuTe DSL and torch.
TEST_F(Compilers, PythonsPackagesAreLedAsTheyAreImported) {
  const std::string folder = WARPMILL_SOURCE "/tests/cudart/python";
  const std::string own = "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + folder;
  const std::string led =
      "the user's own was first\n0 3\n16\n('the environment', 'kernel') kernel.sm_90a.ptx kernel.sm_90a.cubin\n2 "
      "True\n";
  const Ended ended = start("run --devices 3 -- python3 " + folder + "/program.py", own);
  EXPECT_EQ(ended.out, led + "False ptx,cubin True 1\n") << ended.err;
  EXPECT_EQ(start("run --devices 3 -- python3 " + folder + "/program.py", own + " CUTE_DSL_KEEP=sass").out,
            led + "False sass,ptx,cubin True 1\n");
}

// What NVRTC makes of a source, here, where nobody has redirected it.
struct Compiled {
  std::string ptx, cubin;
};
Compiled compiled(const char* source) {
  const wm::jit::Nvrtc& nvrtc = wm::jit::nvrtc();
  nvrtcProgram made{};
  const char* option = "-arch=sm_90a";
  EXPECT_EQ(nvrtc.create_program(&made, source, "fill.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
  EXPECT_EQ(nvrtc.compile_program(made, 1, &option), NVRTC_SUCCESS);
  Compiled all;
  std::size_t bytes = 0;
  nvrtc.ptx_size(made, &bytes);
  all.ptx.resize(bytes);
  nvrtc.ptx(made, all.ptx.data());
  all.ptx.pop_back();
  nvrtc.cubin_size(made, &bytes);
  all.cubin.resize(bytes);
  nvrtc.cubin(made, all.cubin.data());
  nvrtc.destroy_program(&made);
  return all;
}

TEST_F(Compilers, MachineCodeRunsByThePtxThatItsCompilerKept) {
  const Compiled fill = compiled("extern \"C\" __global__ void fill(int* data) { *data = 17; }");
  const Compiled other = compiled("extern \"C\" __global__ void fill_more(int* data) { *data = 18; }");
  const std::string cubin = folder_.write("fill.cubin", fill.cubin).string();
  const Ended alone = start("run " + program + " load " + cubin);
  EXPECT_EQ(alone.out, "load: 209\n");
  EXPECT_THAT(alone.err, HasSubstr("let its compiler keep the PTX in a folder, and say --ptx FOLDER"));
  const std::filesystem::path kept = folder_.path() / "kept";
  std::filesystem::create_directories(kept / "deeper");
  folder_.write("kept/other.ptx", other.ptx);
  const std::string with_ptx = "run --ptx " + kept.string() + " " + program + " load " + cubin;
  EXPECT_EQ(start(with_ptx).out, "load: 209\n");
  folder_.write("kept/deeper/fill.ptx", fill.ptx);
  EXPECT_EQ(start(with_ptx).out, "0 0 0: 17\n");
  // Variants have one name: the one beside the same machine code is right, and without that nobody can tell.
  const Compiled variant = compiled("extern \"C\" __global__ void fill(int* data) { *data = 19; }");
  folder_.write("kept/variant.ptx", variant.ptx);
  const Ended unclear = start(with_ptx);
  EXPECT_EQ(unclear.out, "load: 209\n");
  EXPECT_THAT(unclear.err, HasSubstr("several files of --ptx have the kernel fill, and differ"));
  folder_.write("kept/variant.cubin", variant.cubin);
  folder_.write("kept/deeper/fill.cubin", fill.cubin);
  EXPECT_EQ(start(with_ptx).out, "0 0 0: 17\n");
  EXPECT_EQ(start("run --ptx " + kept.string() + " " + program + " load " + (kept / "variant.cubin").string()).out,
            "0 0 0: 19\n");
  // Files that are none, or cut off, are passed over or refused, and hurt nobody.
  folder_.write("cut.cubin", fill.cubin.substr(0, 100));
  EXPECT_EQ(
      start("run --ptx " + kept.string() + " " + program + " load " + (folder_.path() / "cut.cubin").string()).out,
      "load: 209\n");
  const Ended wrong = start("run --ptx " + cubin + " " + program + " load " + cubin);
  EXPECT_NE(wrong.status, 0);
  EXPECT_THAT(wrong.err, HasSubstr("fill.cubin is no folder"));
}

}  // namespace
