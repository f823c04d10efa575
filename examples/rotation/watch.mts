// Looks at the service from outside, over and over, and tells which certificates cover a domain:
// one line for each change. Ends on Ctrl-C, with 1 if there ever was none that is valid.
//
//   node watch.mts app.example.com
import { setTimeout } from "node:timers/promises";
import { getTLSCertificates } from "pulumi-tlsedge";

const [domain = "app.example.com"] = process.argv.slice(2);
const everyMs = 100;
const started = Date.now();
let polls = 0;
let without = 0;
let last = "";
let watching = true;
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => (watching = false));

while (watching) {
  const now = new Date();
  const certificates = await getTLSCertificates({ domain });
  const valid = certificates.filter(
    ({ notBefore, notAfter }) => new Date(notBefore) <= now && now < new Date(notAfter),
  );
  polls += 1;
  if (valid.length === 0) without += 1;
  const told = valid.map(({ serialNumber }) => serialNumber.slice(0, 8)).join(" and ") || "NONE";
  if (told !== last) {
    console.log(`${String(now.getTime() - started).padStart(7)} ms  poll ${polls}: ${told}`);
  }
  last = told;
  await setTimeout(everyMs);
}
console.log(`${polls} polls, ${without} of them without a valid certificate for ${domain}`);
process.exitCode = without > 0 ? 1 : 0;
