import type { MigrationClass } from '#platform/persistence';
import { Environments1700000002001 } from './persistence/environments-1700000002001.js';
import { Environments1700000007101 } from './persistence/environments-1700000007101.js';

/** The tables of this room; a door of its own, so that whoever looks at the schema need not load the room. */
export const environmentMigrations: readonly MigrationClass[] = [Environments1700000002001, Environments1700000007101];
