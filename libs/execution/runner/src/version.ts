/** That this program reports to agents and MCP servers. */
export const VERSION = '0.1.0';
