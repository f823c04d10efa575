import { start } from "../cli/main";

// The commands of the Node.js package, for a team that has only the plugin.
start(true);
