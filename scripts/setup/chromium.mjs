import { answerOf, findOnPath, isExecutable } from "../command.mjs";
import { installDebianPackages } from "./debian-packages.mjs";

const ON_PATH = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const ELSEWHERE = ["/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"];

/** The path that an environment variable names; throws where it names nothing that runs. */
function chosenBy(variable) {
  const path = process.env[variable];
  if (!path) return undefined;
  if (!isExecutable(path))
    throw new Error(`${variable} is ${path}, which is not a program this user can run`);
  return path;
}

/** The browser for tests: CHROME_BIN, else one on PATH; `undefined` when there is none. */
export function findChromium() {
  return chosenBy("CHROME_BIN") ?? findOnPath(...ON_PATH) ?? ELSEWHERE.find(isExecutable);
}

/** The browser's driver for tests: CHROMEDRIVER, else one on PATH; `undefined` when there is none. */
export function findChromedriver() {
  return chosenBy("CHROMEDRIVER") ?? findOnPath("chromedriver");
}

/** The first dotted number in what `path --version` answers. */
function versionOf(path) {
  return /\d+(?:\.\d+)+/.exec(answerOf(path, ["--version"]) ?? "")?.[0];
}

/** Chromium, which the browser tests run in. */
export const chromium = {
  name: "Chromium",
  does: "installing Debian’s chromium, which only the tests need",
  usually: "30 s",
  byHand: "install Chromium or Chrome and put it on PATH, or name its program in CHROME_BIN.",
  present() {
    const path = findChromium();
    if (!path) return undefined;
    const version = versionOf(path);
    if (!version) throw new Error(`${path} does not tell its version`);
    return `${version} at ${path}`;
  },
  provide: () => installDebianPackages("chromium", "chromium-driver", "fonts-dejavu-core"),
};

/** chromedriver, through which `wasm-pack test` talks to Chromium. */
export const chromedriver = {
  name: "chromedriver",
  does: "installing Debian’s chromium-driver, which only the tests need",
  usually: "10 s",
  byHand:
    "install the chromedriver of the same major version as the browser and put it on PATH, or name it in CHROMEDRIVER.",
  present() {
    const path = findChromedriver();
    if (!path) return undefined;
    const [driver, browser] = [path, findChromium()].map((each) => each && versionOf(each));
    if (driver?.split(".")[0] !== browser?.split(".")[0]) {
      throw new Error(`chromedriver is ${driver} at ${path} but the browser is ${browser}`);
    }
    return `${driver} at ${path}`;
  },
  provide: () => installDebianPackages("chromium-driver"),
};
