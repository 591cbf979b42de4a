// Put before the script of a store's worker: its files then fail, stall or lie as a test says over a broadcast channel.
// `at` is the name of the file that is concerned, `how` what happens to it; until a test says otherwise, again and again.
{
  let fault = null;
  let release = () => {};
  let released = Promise.resolve();
  const channel = new BroadcastChannel("store-faults");
  channel.onmessage = ({ data }) => {
    if (data.id === undefined) return;
    release();
    fault = data.fault;
    if (fault?.how === "stall") {
      released = new Promise((resolve) => {
        release = resolve;
      });
    }
    if (fault?.how === "crash") {
      setTimeout(() => {
        throw new Error("the worker was told to crash");
      });
    }
    channel.postMessage({ done: data.id });
  };
  const handle = FileSystemFileHandle.prototype;
  const { createSyncAccessHandle } = handle;
  handle.createSyncAccessHandle = async function (...options) {
    const concerned = fault !== null && fault.at === this.name ? fault : null;
    if (concerned?.how === "stall") await released;
    const access = await createSyncAccessHandle.apply(this, options);
    const write = access.write.bind(access);
    const throws = ([name, message]) => {
      throw new DOMException(message, name);
    };
    if (concerned?.how === "short") {
      access.write = (bytes) => write(bytes.subarray(0, bytes.length >> 1));
    } else if (concerned?.how === "impossible") {
      access.write = (bytes) => {
        write(bytes.subarray(0, bytes.length >> 1));
        return 4_294_967_288;
      };
    } else if (concerned?.how === "lie") {
      access.write = (bytes) => {
        const spoiled = bytes.slice();
        spoiled[spoiled.length >> 1] ^= 1;
        return write(spoiled);
      };
    } else if (concerned?.how === "throw") {
      access.write = () => throws(concerned.error);
    } else if (concerned?.how === "flush") {
      access.flush = () => throws(concerned.error);
    }
    return access;
  };
}
