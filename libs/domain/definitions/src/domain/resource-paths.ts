import type { ResourceKind } from './definition.js';

export const FACTORY_PATH = 'factory.yaml';

/** Where a resource of this name stands. Skills are called by their paths. */
export function resourcePath(kind: ResourceKind, name: string): string {
  switch (kind) {
    case 'factory':
      return FACTORY_PATH;
    case 'webhook':
      return `webhooks/${name}.yaml`;
    case 'agent':
      return `agents/${name}/agent.md`;
    case 'automation':
      return `automations/${name}/automation.md`;
    case 'skill':
      return name;
  }
}

/** `skills/…`, for all agents of the factory, and `agents/<name>/skills/…`. */
export const isSkillPath = (path: string): boolean => /^(?:agents\/[^/]+\/)?skills\//.test(path);
