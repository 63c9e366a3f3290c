import type { ResourceWords } from '#platform/http';

export const IDENTITY: ResourceWords = { noun: 'agent identity', plural: 'agent identities', owner: 'A team' };
export const MCP_SERVER: ResourceWords = { noun: 'MCP server', plural: 'MCP servers', owner: 'A team' };
