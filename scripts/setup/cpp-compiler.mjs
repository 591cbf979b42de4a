import { answerOf, findOnPath } from "../command.mjs";
import { installDebianPackages } from "./debian-packages.mjs";

/** A C++ compiler: libFuzzer, which cargo-fuzz links in, comes as C++ source. */
export const cppCompiler = {
  name: "C++ compiler",
  does: "installing Debian’s g++, which only fuzzing needs",
  usually: "30 s",
  byHand: "install g++ or clang++ and put it on PATH as c++, or name it in CXX.",
  present() {
    const path = process.env.CXX || findOnPath("c++");
    return path && answerOf(path, ["--version"])?.split("\n")[0];
  },
  provide: () => installDebianPackages("g++"),
};
