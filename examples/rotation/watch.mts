// Asks the service from outside, ten times a second, which certificates cover a domain, and prints
// a line for each change. Ends on Ctrl-C: with 1 if there ever was none that is valid, with 2 if
// the service could not be asked.
//
//   node watch.mts rotation.example
import { setInterval } from "node:timers/promises";
import { getTLSCertificates } from "pulumi-tlsedge";

// Ten polls a second are 600 a minute, five times what the limiter lets pass by default.
process.env.TLSEDGE_REQUESTS_PER_MINUTE ??= "0";
const [domain = "rotation.example"] = process.argv.slice(2);
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
const started = Date.now();
let polls = 0;
let without = 0;
let underWay = 0;
let last = "";

async function poll(): Promise<void> {
  const found = await getTLSCertificates({ domain });
  const now = new Date();
  const valid = found.filter(
    ({ notBefore, notAfter }) => new Date(notBefore) <= now && now < new Date(notAfter),
  );
  polls += 1;
  if (valid.length === 0) without += 1;
  const told = valid.map(({ serialNumber }) => serialNumber.slice(0, 8)).join(" and ") || "NONE";
  if (told !== last) {
    console.log(`${String(now.getTime() - started).padStart(7)} ms  poll ${polls}: ${told}`);
  }
  last = told;
}

try {
  // A poll does not wait for the one before: a gap as short as an answer takes would be missed.
  for await (const _ of setInterval(100, undefined, { signal: stop.signal })) {
    if (underWay >= 20) continue;
    underWay += 1;
    poll()
      .catch((error: Error) => {
        console.error(error.message);
        process.exit(2);
      })
      .finally(() => {
        underWay -= 1;
      });
  }
} catch (error) {
  if (!stop.signal.aborted) throw error;
}
console.log(`${polls} polls, ${without} of them without a valid certificate for ${domain}`);
process.exit(without > 0 ? 1 : 0);
