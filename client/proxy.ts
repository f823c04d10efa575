import { isIPv6 } from "node:net";
import querystring from "node:querystring";

const variables = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];

/**
 * The proxy for an `https:` URL, as axios takes it, and the variable that names it; undefined for none. The environment
 * names it, and is read as curl and Go do: axios does not decode the user and the password, and reads NO_PROXY in
 * another way.
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

/** Whether NO_PROXY has the host, or a domain above it, each perhaps with a port; or `*`. */
function isExcepted({ hostname, port }: URL): boolean {
  const list = process.env.no_proxy || process.env.NO_PROXY || "";
  return list.split(/[\s,]+/).some((entry) => {
    // An IPv6 address may stand without brackets, and then has no port.
    const address = isIPv6(entry) ? `[${entry}]` : entry.toLowerCase();
    const [, name = "", itsPort] = /^(.*?)(?::(\d+))?$/.exec(address) ?? [];
    if (itsPort && itsPort !== (port || "443")) return false;
    const domain = name.replace(/^\*?\./, "");
    return name === "*" || (domain !== "" && `.${hostname}`.endsWith(`.${domain}`));
  });
}
