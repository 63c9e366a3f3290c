import type { MigrationClass } from '#platform/persistence';
import { Agents1700000002501 } from './persistence/agents-1700000002501.js';
import { Agents1700000006301 } from './persistence/agents-1700000006301.js';
import { Agents1700000010204 } from './persistence/agents-1700000010204.js';
import { IdentitySecrets1700000010403 } from './persistence/identity-secrets-1700000010403.js';
import { HarnessInstallations1700000008301 } from './harnesses/persistence/harness-installations-1700000008301.js';

/** The tables of this room; a door of its own, so that whoever looks at the schema need not load the room. */
export const agentMigrations: readonly MigrationClass[] = [
  Agents1700000002501,
  Agents1700000006301,
  HarnessInstallations1700000008301,
  Agents1700000010204,
  IdentitySecrets1700000010403,
];
