// Worker threads that exchange messages with the main thread: N workers (8 at most), 40 messages each.
const { Worker, isMainThread, parentPort } = require("node:worker_threads");

if (isMainThread) {
  const count = Math.min(Number(process.argv[2]), 8);
  let open = count;
  for (let i = 0; i < count; i++) {
    let left = 40;
    const worker = new Worker(__filename);
    worker.on("message", () => {
      if (--left > 0) worker.postMessage(left);
      else if (worker.terminate() && --open === 0) console.log("done");
    });
    worker.postMessage(left);
  }
} else {
  parentPort.on("message", (n) => {
    let sum = 0;
    for (let i = 0; i < 30000; i++) sum += i % n;
    parentPort.postMessage(sum);
  });
}
