/** The variables in which axios looks for a proxy, in its order. */
const variables = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];

/** The variable of the environment that names the proxy, unless NO_PROXY makes an exception. */
export function proxyVariable(): string | undefined {
  return variables.find((name) => process.env[name]);
}

/** Whether the proxy is left out: ALL_PROXY may name one that does not speak HTTP, such as SOCKS. */
export function isOtherProxy(): boolean {
  const name = proxyVariable() ?? "";
  return /^all_proxy$/i.test(name) && /^(?!https?:)[^:]*:\/\//i.test(process.env[name] ?? "");
}
