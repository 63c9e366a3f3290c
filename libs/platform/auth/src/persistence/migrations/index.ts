import type { MigrationClass } from '#platform/persistence';
import { Identity1700000000001 } from './identity-1700000000001.js';
import { Identity1700000000002 } from './identity-1700000000002.js';
import { Identity1700000010203 } from './identity-1700000010203.js';
import { Identity1700000010401 } from './identity-1700000010401.js';

export const authMigrations: readonly MigrationClass[] = [
  Identity1700000000001,
  Identity1700000000002,
  Identity1700000010203,
  Identity1700000010401,
];
