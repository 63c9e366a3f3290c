import type { MigrationClass } from '#platform/persistence';
import { Workers1700000008001 } from './persistence/workers-1700000008001.js';
import { Workers1700000010201 } from './persistence/workers-1700000010201.js';

/** The tables of this room; a door of its own, so that whoever looks at the schema need not load the room. */
export const workerMigrations: readonly MigrationClass[] = [Workers1700000008001, Workers1700000010201];
