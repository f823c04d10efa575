/** The type token of a resource of the Node.js package. Every state names it, so it never changes. */
export const typeToken = (name: string) => `pulumi-nodejs:dynamic/tlsedge:${name}`;

/** The type token of a resource, and the token of a function, of the plugin. States name it, too. */
export const pluginToken = (name: string) => `tlsedge:index:${name}`;
