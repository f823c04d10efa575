import { BlockList, isIP, isIPv6 } from "node:net";
import querystring from "node:querystring";

/** A proxy, as axios takes it, and the variable of the environment that names it. */
export type HttpProxy = NonNullable<ReturnType<typeof proxyFor>>;

const variables = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];

/**
 * The proxy for an `https:` URL; undefined for none. The environment names it, and is read as curl and Go do: axios
 * does not decode the user and the password, and reads NO_PROXY in another way.
 *
 * @throws TypeError when its URL is malformed. The message names the variable only.
 */
export function proxyFor(service: URL) {
  const variable = variables.find((name) => process.env[name]);
  if (!variable || isExcepted(service)) return undefined;
  const given = String(process.env[variable]);
  const url = given.includes("://") ? given : `http://${given}`;
  const isHttp = /^https?:/i.test(url);
  // It may be one for all programs that does not speak HTTP, such as SOCKS.
  if (!isHttp && /^all/i.test(variable)) return undefined;
  if (!isHttp || !URL.canParse(url)) {
    throw new TypeError(`the proxy in ${variable} has a malformed URL: write http://host:port`);
  }
  const { protocol, hostname: host, port, username, password } = new URL(url);
  // A sign that is not encoded stays as it is.
  const auth = {
    username: querystring.unescape(username),
    password: querystring.unescape(password),
  };
  const hasAuth = username || password;
  return { variable, protocol, host, port: Number(port), ...(hasAuth && { auth }) };
}

/** Whether NO_PROXY has the host or a domain above it, its subnet, or `*`; each perhaps with a port. */
function isExcepted({ hostname, port }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  const list = process.env.no_proxy || process.env.NO_PROXY || "";
  return list.split(/[\s,]+/).some((entry) => {
    // An IPv6 address with a port stands in brackets.
    const [, bracketed, bare, itsPort] = /^(?:\[(.+)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
    const name = (bracketed ?? bare ?? entry).toLowerCase();
    if (itsPort && itsPort !== (port || "443")) return false;
    const [network = "", bits] = name.split("/");
    if (bits && isIP(network)) return isIn(network, Number(bits), host);
    const domain = name.replace(/^\*?\./, "");
    return name === "*" || (domain !== "" && `.${host}`.endsWith(`.${domain}`));
  });
}

function isIn(network: string, bits: number, host: string): boolean {
  const familyOf = (address: string) => (isIPv6(address) ? "ipv6" : "ipv4");
  if (!(bits <= (isIPv6(network) ? 128 : 32))) return false;
  const subnet = new BlockList();
  subnet.addSubnet(network, bits, familyOf(network));
  return isIP(host) > 0 && subnet.check(host, familyOf(host));
}
