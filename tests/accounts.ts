import type { Account } from "../cli/account";
import type { TLSCertificateWire } from "../client/tlsCertificate";
import type { TLSEdgeWire } from "../client/tlsEdge";
import { makeCertificate } from "../emulator/server";

export const now = new Date("2026-03-01T12:00:00Z");
export const inDays = (days: number) => new Date(now.getTime() + days * 86_400_000);

/** An edge as the service lists it. */
export const edgeWire = (fields: Partial<TLSEdgeWire> = {}): TLSEdgeWire => ({
  ...{ id: "edgtls_1", uri: "", created_at: "2025-06-01T08:00:00Z" },
  ...fields,
});
/** A certificate as the service lists it, with a PEM that nothing can parse. */
export const certificateWire = (fields: Partial<TLSCertificateWire> = {}): TLSCertificateWire => ({
  ...{ id: "cert_1", uri: "", created_at: "2025-12-01T08:00:00Z", certificate_pem: "" },
  ...fields,
});

const edgeOf = (id: string, hostports: string[], more: Partial<TLSEdgeWire> = {}) =>
  edgeWire({
    id: `edgtls_${id}`,
    hostports,
    backend: { enabled: true, backend: { id: "bkdtg_1", uri: "" } },
    tls_termination: { terminate_at: "edge", min_version: "1.2" },
    ...more,
  });

async function certificateOf(
  id: string,
  days: number,
  dnsNames: string[],
  more: Partial<TLSCertificateWire> = {},
): Promise<TLSCertificateWire> {
  const { certificatePem } = await makeCertificate({
    commonName: dnsNames[0] ?? "",
    dnsNames,
    notBefore: inDays(Math.min(-30, days - 60)),
    notAfter: inDays(days + 0.5),
  });
  return certificateWire({ id: `cert_${id}`, certificate_pem: certificatePem, ...more });
}

const owned = (owner: string) => JSON.stringify({ environment: "production", owner });

/** An account with a case of everything that a report shows. */
export async function usualAccount(): Promise<Account> {
  const wildcard = await certificateOf("KSAtuTiaGkY7DbkVWEHUvcdQhqY", 180, ["*.apps.acme.example"]);
  const apps = Array.from({ length: 12 }, (_, n) => `app-${n + 1}.apps.acme.example:443`);
  return {
    service: "api.example.com",
    edges: [
      edgeOf(
        "USFQizgvSrWsoAUIpHhirQZN1mA",
        ["shop.acme.example:443", "www.shop.acme.example:443"],
        {
          description: "the shop",
          metadata: owned("shop"),
          mutual_tls: { enabled: false },
          ip_restriction: { enabled: true },
        },
      ),
      edgeOf("UDy2qaCVVcqrGwoN2vMJlxFxYrk", apps, { metadata: owned("platform") }),
      edgeOf("8mM3ytctlqijINx241rE1nyjDfI", ["login.acme.example:443"], { metadata: owned("web") }),
      edgeOf("vo6BDMsS0SHKZ6Ae5QjekhBN5Ly", ["ssh.acme.example:22"], {
        tls_termination: { terminate_at: "upstream" },
      }),
      edgeOf("4vrCazToQoCrQV5kvOHjYx1TqYP", [
        "recommendations-experiment.eu-central.staging.internal.acme.example:8443",
      ]),
      edgeOf("XC1MiKl3z7tisaG01SNieYoUoMV", ["old.acme.example:443"], { description: "until May" }),
    ],
    certificates: [
      wildcard,
      { ...wildcard, id: "cert_MqUsmKaGj7pVXeSexc17vN8GkAW", created_at: "2025-11-30T08:00:00Z" },
      await certificateOf("7jfLWy0HEtkX8EKeSsHIlyojkBd", 20, [
        "shop.acme.example",
        ...["www", "checkout", "static", "images"].map((name) => `${name}.shop.acme.example`),
      ]),
      await certificateOf("hmeYjgq4PyCXPrkCjTJDxWNBDlk", 3, ["login.acme.example"], {
        description: "from the old authority",
        metadata: owned("web"),
      }),
      await certificateOf("1w0jDNKHxAEVRzfLBjX8CxBJCRy", 80, ["login.acme.example"], {
        description: "from the new authority",
        metadata: owned("web"),
      }),
      await certificateOf("sFGqFa4TT5Wf8kPpl19by6pPxPp", -12, ["old.acme.example"]),
      await certificateOf("2cYcLQNdsdBnbVQrXK1hYfJ0m2v", 700, ["partners.acme.example"]),
    ],
    tunnels: [
      {
        id: "tn_vqQASylWrNpgrKqIyhgqA7ya9gq",
        labels: { app: "web", env: "production" },
        region: "eu",
      },
      {
        id: "tn_0eZicljNWhN1D6jweyuKCTB9utN",
        public_url: "https://preview-142.acme.example",
        forwards_to: "http://localhost:3000",
        proto: "https",
        region: "us",
      },
    ],
  };
}

/** GitHub would link each. */
export const references = ["GH-12", "see PROJ-7", "1234abc"];
/** Texts that would be markup, code or commands somewhere. */
export const hostile = [
  "<script>window.hacked = 1</script>",
  '"><img src=x onerror="window.hacked = 1">',
  "' onmouseover='window.hacked = 1",
  "</title></style></script><h1>x",
  "javascript:window.hacked=1",
  "&lt;b&gt; &amp;",
  "a | b \\| c \\",
  "`code` ``more`` *bold* _it_ ~~x~~ [x](http://evil.example) ![x](http://evil.example/x.png)",
  "https://evil.example www.evil.example me@evil.example @someone #1",
  "\u202egnp.exe\u2066 \u001b[31mred\u0007 a\nb\u2028c \u0000",
  "50%41 %zz",
  "half \ud83d of a character",
  ...references,
  "עברית",
  "x".repeat(255),
];

/** A text as it is shown: what a terminal would obey or hide is escaped. */
export const shown = (text: string) =>
  text.replace(/[\p{C}\u2028]/gu, (sign) => {
    if (sign === "\n") return "\\n";
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });

export async function hostileAccount(): Promise<Account> {
  return {
    service: `${hostile[0]}.example`,
    edges: hostile.map((text, n) =>
      edgeOf(`${n}${text}`, [text, "b.example:443"], { description: text, metadata: text }),
    ),
    certificates: hostile.map((text, n) =>
      certificateWire({
        id: `cert_${n}${text}`,
        not_after: inDays(n).toISOString(),
        subject_common_name: text,
        subject_alternative_names: { dns_names: [text, text], ips: [] },
        serial_number: text,
        description: text,
        metadata: JSON.stringify({ owner: text }),
      }),
    ),
    tunnels: hostile.map((text, n) => ({
      id: `tn_${n}`,
      public_url: text,
      labels: { [text]: text },
    })),
  };
}

/** An account of many certificates, most of which expire in the same weeks. */
export function largeAccount(size: number): Account {
  const names = Array.from({ length: size }, (_, n) => `host-${n}.fleet.acme.example`);
  return {
    service: "api.example.com",
    edges: names.map((name, n) => edgeOf(`${n}`, [`${name}:443`])),
    certificates: names.map((name, n) =>
      certificateWire({
        id: `cert_${n}`,
        not_after: inDays(60 + (n % 30)).toISOString(),
        subject_alternative_names: { dns_names: [name], ips: [] },
      }),
    ),
    tunnels: [],
  };
}
